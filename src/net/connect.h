// Resolves names and connects to hosts within a time limit. These functions block; any thread may
// call them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "net/address.h"

namespace polybox::net {

/// Returns the addresses of `target` by getaddrinfo(); empty when there are none. Takes as long as
/// the host's resolver takes.
std::vector<Address> Resolve(const HostPort& target);

/// A deadline, and a descriptor that ends the wait early (borrowed, readable when it is time to
/// stop; -1 for none).
struct Patience {
  std::chrono::steady_clock::time_point deadline;
  int stop = -1;
};

/// Waits for one of `events` on `fd` (borrowed). Returns false when the deadline passes or `stop`
/// becomes readable.
bool AwaitSocket(int fd, short events, const Patience& patience);

/// Gives a socket a fixed buffer size, or a listener for the sockets that it accepts later. Socket
/// buffers are memory of the machine, outside the limit of any jail. Errors are ignored.
void BoundBuffers(int fd);

/// Returns a connected, non-blocking socket with bounded buffers. The text of an error does not
/// contain the address.
Result<UniqueFd> Connect(const Address& address, const Patience& patience);

/// Connects to the first address that answers. Each address gets an equal share of the remaining
/// time. Only the first eight are tried, because a name can have any number of addresses.
Result<UniqueFd> ConnectToAny(std::span<const Address> addresses, const Patience& patience);

/// Sends all bytes; returns false when that fails or the time is up.
bool SendAll(int fd, std::string_view bytes, const Patience& patience);

/// Reads until an empty line, at most `largest` bytes, and returns the bytes up to that line. Later
/// bytes go to `rest`. Returns "" when there is no empty line in time.
std::string ReadHeader(int fd, Bytes largest, const Patience& patience, std::string& rest);

}  // namespace polybox::net
