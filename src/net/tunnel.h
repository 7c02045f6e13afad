// Copies bytes between two sockets until both directions have ended, no byte moves for `idle_time`,
// or the caller asks to stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "base/units.h"

namespace polybox::net {

struct TunnelOptions {
  /// Both sockets are borrowed and must be non-blocking.
  int client = -1;
  int server = -1;
  /// Readable when the tunnel must stop (borrowed).
  int stop = -1;
  Duration idle_time{};
  /// Bytes already read from one socket, to be sent to the other first.
  std::string to_server = {};
  std::string to_client = {};
  /// Called with the number of bytes read from the client and from the server. Returning false ends
  /// the tunnel.
  std::function<bool(std::uint64_t out, std::uint64_t in)> count;
};

/// Blocks until the tunnel has ended.
void RunTunnel(TunnelOptions options);

}  // namespace polybox::net
