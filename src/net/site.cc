#include "net/site.h"

#include <algorithm>

#include <fmt/format.h>

namespace polybox::net {
namespace {

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return Lower(c); });
  return lower;
}

bool IsScheme(std::string_view text) {
  return !text.empty() && text[0] >= 'a' && text[0] <= 'z' && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
}

/// Returns 0 for a scheme whose hosts are opaque identifiers, such as "chrome-extension".
std::uint16_t DefaultPort(std::string_view scheme) {
  if (scheme == "http") return 80;
  if (scheme == "https") return 443;
  return 0;
}

std::string Authority(const HostPort& host, std::uint16_t default_port) {
  return host.port == default_port ? Bracketed(host.host) : JoinHostPort(host.host, host.port);
}

}  // namespace

bool IsLoopbackHost(const HostPort& host) {
  if (!host.is_address) return host.host == "localhost" || host.host.ends_with(".localhost");
  return host.host == "::1" || host.host.starts_with("127.") ||
         host.host.starts_with("::ffff:127.");
}

std::optional<std::string> ParseOrigin(std::string_view text) {
  const std::size_t end = text.find("://");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string scheme = Lower(text.substr(0, end));
  const std::string_view rest = text.substr(end + 3);
  if (!IsScheme(scheme)) return std::nullopt;
  const std::uint16_t default_port = DefaultPort(scheme);
  // A scheme without a default port has its host only checked for form; the 1 lets the port be
  // missing.
  const auto host = ParseHostPort(rest, default_port == 0 ? 1 : default_port);
  if (!host) return std::nullopt;
  return scheme + "://" + (default_port == 0 ? Lower(rest) : Authority(*host, default_port));
}

bool HostRule::IsFor(const HostPort& target) const {
  if (port != 0 && port != target.port) return false;
  return is_suffix ? !target.is_address && target.host.ends_with(host) : target.host == host;
}

std::optional<HostPort> ParseHostHeader(std::string_view text) {
  auto host = ParseHostPort(text, 1);
  const std::size_t host_end = text.starts_with('[') ? text.find(']') : 0;
  if (host && text.find(':', host_end) == std::string_view::npos) host->port = 0;
  return host;
}

std::optional<HostRule> ParseHostRule(std::string_view text) {
  const bool is_suffix = text.starts_with("*.");
  const auto host = ParseHostHeader(is_suffix ? text.substr(2) : text);
  if (!host || (is_suffix && host->is_address)) return std::nullopt;
  return HostRule{(is_suffix ? "." : "") + host->host, host->port, is_suffix};
}

std::string ComplaintAboutHost(const std::string& entry) {
  if (ParseHostRule(entry)) return "";
  return "expected box.example.org, *.example.org, 192.0.2.1 or [2001:db8::1], each with or "
         "without "
         ":PORT";
}

std::string ComplaintAboutOrigin(const std::string& entry) {
  if (ParseOrigin(entry)) return "";
  return "expected SCHEME://HOST or SCHEME://HOST:PORT without a path, such as "
         "https://app.example.org";
}

}  // namespace polybox::net
