#include "net/upstream.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace polybox::net {
namespace {

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8U | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      const bool padding = i + j > bytes.size();
      text += padding ? '=' : kDigits[(group >> (18 - 6 * j)) & 63U];
    }
  }
  return text;
}

std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      decoded += static_cast<char>(value);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

/// Returns an IPv6 address, with or without brackets, in the spelling of targets. Returns any other
/// text unchanged.
std::string AsCompared(const std::string& word) {
  const bool bracketed = word.starts_with('[');
  const auto address = ParseHostPort(bracketed ? word : "[" + word + "]", 443);
  return address ? address->host : word;
}

/// Parses "a, .b,*.c" into names and suffixes. A name also matches all names below it, as in curl.
std::vector<std::string> DirectHosts(const std::string& list) {
  std::vector<std::string> hosts;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find_first_of(", ", at), list.size());
    std::string word = list.substr(at, end - at);
    at = end + 1;
    if (word.starts_with("*.")) word.erase(0, 1);
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
    if (!word.empty()) hosts.push_back(AsCompared(word));
  }
  return hosts;
}

}  // namespace

HostPort Upstream::where() const {
  const auto parsed = ParseHostPort(Bracketed(host), port);
  return parsed ? *parsed : HostPort{host, port, false};
}

bool Upstream::UsedFor(const HostPort& target) const {
  if (host.empty()) return false;
  return std::ranges::none_of(direct, [&](const std::string& name) {
    const std::string bare = name.starts_with('.') ? name.substr(1) : name;
    return name == "*" || target.host == bare ||
           (!target.is_address && target.host.ends_with("." + bare));
  });
}

Result<Upstream> Upstream::FromEnvironment(
    const std::function<std::string(const std::string&)>& variable) {
  Upstream upstream;
  for (const char* name : {"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"}) {
    std::string url = variable(name);
    if (url.empty()) continue;
    const std::size_t scheme = url.find("://");
    const bool is_http = scheme == std::string::npos || url.substr(0, scheme) == "http";
    if (scheme != std::string::npos) url.erase(0, scheme + 3);
    url.resize(std::min(url.find('/'), url.size()));
    if (const std::size_t at = url.rfind('@'); at != std::string::npos) {
      upstream.authorization = "Basic " + Base64(PercentDecoded(url.substr(0, at)));
      url.erase(0, at + 1);
    }
    const auto parsed = ParseHostPort(url, 80);
    if (!is_http || !parsed) {
      return Error(ErrorKind::kInvalid,
                   fmt::format("{}: expected a proxy such as http://proxy.example.org:3128", name));
    }
    upstream.host = parsed->host;
    upstream.port = parsed->port;
    break;
  }
  for (const char* name : {"NO_PROXY", "no_proxy"}) {
    if (upstream.direct.empty()) upstream.direct = DirectHosts(variable(name));
  }
  return upstream;
}

}  // namespace polybox::net
