// Finding and reaching hosts within a time limit. Any thread; blocks.
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

/// getaddrinfo(): as long as the host's resolver takes. Empty when there is none.
std::vector<Address> Resolve(const HostPort& target);

/// When something must be done by, and what may cut it short (borrowed, readable then).
struct Patience {
  std::chrono::steady_clock::time_point deadline;
  int stop = -1;
};

/// Waits for one of `events` on `fd`; false when the time is up or someone said stop.
bool AwaitSocket(int fd, short events, const Patience& patience);

/// Gives a socket, or those that a listener accepts from now on, buffers that do not grow: they are
/// memory of the machine's, outside the limit of any jail. Best effort.
void BoundBuffers(int fd);

/// A connected, non-blocking socket with bounded buffers. An error is a sentence without the
/// address.
Result<UniqueFd> Connect(const Address& address, const Patience& patience);

/// To the first of them that answers; each has an equal share of the time that is left. The first
/// eight only: a name can have any number.
Result<UniqueFd> ConnectToAny(std::span<const Address> addresses, const Patience& patience);

/// False when it could not all be sent.
bool SendAll(int fd, std::string_view bytes, const Patience& patience);

/// Reads until an empty line, at most `largest`; what came after it is left in `rest`. "" when
/// there is no such line in time.
std::string ReadHeader(int fd, Bytes largest, const Patience& patience, std::string& rest);

}  // namespace polybox::net
