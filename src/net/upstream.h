// The HTTP proxy of a company network, as the server's environment variables name it. The egress
// proxy connects through the upstream proxy.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/address.h"

namespace polybox::net {

struct Upstream {
  /// "" when there is no upstream proxy.
  std::string host;
  std::uint16_t port = 0;
  /// The value of Proxy-Authorization; "" for none. Never logged.
  std::string authorization;
  /// Hosts that are reached without the upstream proxy: names, and suffixes with a leading dot. "*"
  /// means all hosts.
  std::vector<std::string> direct;

  /// The address of the upstream proxy. Only call this when there is one.
  HostPort where() const;
  bool UsedFor(const HostPort& target) const;

  /// Reads HTTPS_PROXY, https_proxy, ALL_PROXY or all_proxy, and NO_PROXY or no_proxy; the first
  /// that is set counts. `variable` returns a variable's value, or "" when it is not set. An error
  /// contains the variable's name and never its value.
  static Result<Upstream> FromEnvironment(
      const std::function<std::string(const std::string&)>& variable);
};

}  // namespace polybox::net
