#include "registries/client_answer.h"

#include <algorithm>
#include <optional>

namespace polybox::registries {
namespace {

constexpr std::string_view kAuthority = "://";
// What ends the host and port of a URL in configuration files and lists of URLs.
constexpr std::string_view kEndsAuthority = "/?# \t,|;\"'<>()[]{}\\";

/// Returns the authority of the URL whose "://" is at `at`. Brackets belong to an IPv6 address.
std::string_view AuthorityAt(std::string_view text, std::size_t at) {
  std::string_view rest = text.substr(at + kAuthority.size());
  const std::size_t bracket = rest.find('[');
  const std::size_t end = rest.find_first_of(kEndsAuthority);
  const bool is_v6 = bracket != std::string_view::npos && bracket == end &&
                     (bracket == 0 || rest[bracket - 1] == '@');
  if (!is_v6) return rest.substr(0, end);
  const std::size_t close = std::min(rest.find(']'), rest.size());
  return rest.substr(0, rest.find_first_of(kEndsAuthority, std::min(close + 1, rest.size())));
}

/// Returns the default port of the scheme in front of "://" at `at`; 0 if the scheme is not https
/// or http.
std::uint16_t PortOfScheme(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  if (before.ends_with("https")) return 443;
  return before.ends_with("http") ? 80 : 0;
}

bool StaysBelow(std::string_view path) {
  const std::string slashed = "/" + std::string(path) + "/";
  return !path.empty() && slashed.find("/../") == std::string::npos &&
         slashed.find("/./") == std::string::npos && slashed.find("//") == std::string::npos &&
         path.find('\0') == std::string_view::npos;
}

void AddHosts(std::string_view text, std::vector<net::HostPort>& hosts) {
  for (const net::HostPort& host : HostsIn(text)) {
    if (std::ranges::count(hosts, host) == 0) hosts.push_back(host);
  }
}

}  // namespace

std::vector<net::HostPort> HostsIn(std::string_view text) {
  std::vector<net::HostPort> hosts;
  for (std::size_t at = text.find(kAuthority); at != std::string_view::npos;
       at = text.find(kAuthority, at + 1)) {
    const std::uint16_t port = PortOfScheme(text, at);
    if (port == 0) continue;
    std::string_view authority = AuthorityAt(text, at);
    authority.remove_prefix(authority.rfind('@') + 1);
    const auto host = net::ParseHostPort(authority, port);
    if (host && std::ranges::count(hosts, *host) == 0) hosts.push_back(*host);
  }
  return hosts;
}

std::string WithoutCredentials(std::string_view text) {
  // A password may contain what separates URLs in a list, such as a comma.
  constexpr std::string_view kEnds = "/?# \t\"'<>";
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = text.find(kAuthority); at != std::string_view::npos;
       at = text.find(kAuthority, at + 1)) {
    const std::size_t begin = at + kAuthority.size();
    const std::string_view rest = text.substr(begin);
    const std::size_t sign = rest.substr(0, rest.find_first_of(kEnds)).rfind('@');
    if (sign == std::string_view::npos) continue;
    out += text.substr(copied, begin - copied);
    copied = begin + sign + 1;
  }
  return out += text.substr(copied);
}

ClientAnswer ParseClientAnswer(std::string_view text) {
  ClientAnswer answer;
  std::string* file = nullptr;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("registry ")) {
      AddHosts(line, answer.hosts);
    } else if (line.starts_with("file ")) {
      const std::string path(line.substr(5));
      file = StaysBelow(path) ? &answer.files[path] : nullptr;
    } else if (line.starts_with("| ") && file != nullptr) {
      *file += WithoutCredentials(line.substr(2)) + "\n";
    }
  }
  return answer;
}

}  // namespace polybox::registries
