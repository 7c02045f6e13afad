// Moving bytes between two sockets until both are done, nothing moves any more, or someone says
// stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "base/units.h"

namespace polybox::net {

struct TunnelOptions {
  /// Borrowed.
  int client = -1;
  int server = -1;
  /// Readable when it is time to stop (borrowed).
  int stop = -1;
  Duration idle_time{};
  /// Already read from one side, and to be sent to the other.
  std::string to_server = {};
  std::string to_client = {};
  /// Told of every byte that came from the client or the server; false ends the tunnel.
  std::function<bool(std::uint64_t out, std::uint64_t in)> count;
};

/// Blocks. Both sockets must be non-blocking.
void RunTunnel(TunnelOptions options);

}  // namespace polybox::net
