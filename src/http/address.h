// Where a server listens, as text: "127.0.0.1:8080", "[::1]:8080", "localhost:0".
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace polybox::http {

struct HostPort {
  /// Without brackets.
  std::string host;
  std::string port;
};

Result<HostPort> SplitAddress(const std::string& address);
std::string JoinAddress(const HostPort& parts);

/// Whether only this machine can reach it: every address that the host stands for is a loopback
/// one. An error when the host is not known.
Result<bool> IsLoopback(const std::string& address);

}  // namespace polybox::http
