// Parses hosts and origins as browsers write them in `Host` and `Origin`, and as an operator lists
// them in settings. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/address.h"

namespace polybox::net {

/// Returns whether the host can only be this machine: localhost, a name below localhost,
/// 127.0.0.0/8 or ::1. Browsers never ask a name server for these.
bool IsLoopbackHost(const HostPort& host);

/// Returns the origin in a canonical spelling that can be compared: lower case, without the
/// scheme's default port. Returns nothing for a text that is no origin: "null", a URL with a path,
/// a wildcard.
std::optional<std::string> ParseOrigin(std::string_view text);

/// A host that the server accepts in a `Host` header.
struct HostRule {
  /// Returns whether the rule matches. `host.port` is the port of the header, 0 when the header has
  /// none.
  bool IsFor(const HostPort& host) const;

  /// With a leading dot when `is_suffix` is true.
  std::string host;
  /// 0 matches any port.
  std::uint16_t port = 0;
  bool is_suffix = false;
};

/// Parses HOST, *.SUFFIX (which does not match SUFFIX itself), or either with :PORT.
std::optional<HostRule> ParseHostRule(std::string_view text);
/// Parses the value of a `Host` header; the port is 0 when the header has none.
std::optional<HostPort> ParseHostHeader(std::string_view text);

/// Return what is wrong with an entry of a setting, "" when nothing is.
std::string ComplaintAboutHost(const std::string& entry);
std::string ComplaintAboutOrigin(const std::string& entry);

}  // namespace polybox::net
