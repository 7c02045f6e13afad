// A company's proxy: what stands in the server's environment for programs that want out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/address.h"

namespace polybox::net {

struct Upstream {
  /// "" when there is none.
  std::string host;
  std::uint16_t port = 0;
  /// The value of Proxy-Authorization; "" for none. Never logged.
  std::string authorization;
  /// Names, and suffixes with their leading dot, that are reached without it; "*" is all.
  std::vector<std::string> direct;

  /// Only when there is one.
  HostPort where() const;
  bool UsedFor(const HostPort& target) const;

  /// From HTTPS_PROXY, https_proxy, ALL_PROXY or all_proxy and NO_PROXY or no_proxy, the first that
  /// is set. `variable` returns "" for what is not. An error names the variable and never its
  /// value.
  static Result<Upstream> FromEnvironment(
      const std::function<std::string(const std::string&)>& variable);
};

}  // namespace polybox::net
