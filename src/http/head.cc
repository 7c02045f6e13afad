#include "http/head.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <random>
#include <utility>

#include <fmt/format.h>

namespace polybox::http {
namespace {

// The statuses that polybox sends.
constexpr std::array kReasons = std::to_array<std::pair<int, std::string_view>>({
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {413, "Request Entity Too Large"},
    {414, "Request URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Entity"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
});

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

bool IsToken(std::string_view name) {
  return !name.empty() && std::ranges::none_of(name, [](char c) {
    return IsControl(c) || c == ' ' || c == ':' || static_cast<unsigned char>(c) >= 0x80;
  });
}

void AppendField(std::string& head, std::string_view name, std::string_view value) {
  if (!IsToken(name)) return;
  if (std::ranges::any_of(value, [](char c) { return IsControl(c) && c != '\t'; })) return;
  head += name;
  head += ": ";
  head += value;
  head += "\r\n";
}

/// Adds fields so that a page cannot use a guest's output as a document or a script. A browser then
/// relies only on the Content-Type, and gives the answer only to pages of this server.
void AppendDefences(std::string& head, const Headers& headers) {
  AppendField(head, "X-Content-Type-Options", "nosniff");
  constexpr std::string_view kPolicy = "Cross-Origin-Resource-Policy";
  if (std::ranges::none_of(headers, [&](const auto& field) { return field.first == kPolicy; })) {
    AppendField(head, kPolicy, "same-origin");
  }
}

/// Formats a date as RFC 9110 requires, independent of the locale: "Sun, 06 Nov 1994 08:49:37 GMT".
std::string HttpDate(std::chrono::system_clock::time_point now) {
  constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     kDays.at(static_cast<std::size_t>(parts.tm_wday)), parts.tm_mday,
                     kMonths.at(static_cast<std::size_t>(parts.tm_mon)), parts.tm_year + 1900,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

bool HasBody(int status) {
  return status >= 200 && status != 204 && status != 304;
}

void AppendFraming(std::string& head, int status, const HeadFacts& facts) {
  if (!HasBody(status)) return;
  if (facts.body_end == BodyEnd::kLength) {
    AppendField(head, "Content-Length", std::to_string(facts.length));
  } else if (facts.body_end == BodyEnd::kChunked) {
    AppendField(head, "Transfer-Encoding", "chunked");
  }
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Returns "/path" for "http://host/path".
std::string_view OriginForm(std::string_view target) {
  const std::size_t scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) return target;
  const std::size_t path = target.find_first_of("/?#", scheme + 3);
  return path == std::string_view::npos || target[path] != '/' ? "/" : target.substr(path);
}

}  // namespace

std::string_view ReasonPhrase(int status) {
  const auto* found = std::ranges::find(kReasons, status, &std::pair<int, std::string_view>::first);
  return found == kReasons.end() ? "" : found->second;
}

Response PlainResponse(int status, std::string_view why) {
  return {.status = status,
          .content_type = "text/plain; charset=utf-8",
          .body = fmt::format("{} {}{}{}\n", status, ReasonPhrase(status), why.empty() ? "" : ": ",
                              why),
          .headers = {}};
}

std::string FormatHead(const Response& response, const HeadFacts& facts) {
  std::string head = fmt::format("HTTP/1.{} {} {}\r\n", facts.version == 10 ? 0 : 1,
                                 response.status, ReasonPhrase(response.status));
  head.reserve(512);
  if (HasBody(response.status) && !response.content_type.empty()) {
    AppendField(head, "Content-Type", response.content_type);
  }
  for (const auto& [name, value] : response.headers) AppendField(head, name, value);
  AppendDefences(head, response.headers);
  AppendField(head, "X-Request-ID", facts.request_id);
  AppendField(head, "Date", HttpDate(facts.now));
  AppendFraming(head, response.status, facts);
  if (!facts.keep_alive) {
    AppendField(head, "Connection", "close");
  } else if (facts.version == 10) {
    AppendField(head, "Connection", "keep-alive");
  }
  return head += "\r\n";
}

std::optional<std::string> DecodePath(std::string_view target) {
  if (target == "*") return std::string(target);  // OPTIONS * HTTP/1.1
  std::string_view path = OriginForm(target);
  path = path.substr(0, path.find_first_of("?#"));
  if (!path.starts_with('/')) return std::nullopt;
  std::string decoded;
  decoded.reserve(path.size());
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (path[at] != '%') {
      decoded += path[at];
      continue;
    }
    const int high = at + 2 < path.size() ? HexDigit(path[at + 1]) : -1;
    const int low = at + 2 < path.size() ? HexDigit(path[at + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    at += 2;
  }
  // No path of polybox contains a NUL, and a system call would ignore everything behind it.
  if (decoded.find('\0') != std::string::npos) return std::nullopt;
  return decoded;
}

bool IsSaneRequestId(std::string_view id) {
  constexpr std::string_view kOthers = "-_.:/+=@";
  return !id.empty() && id.size() <= 128 && std::ranges::all_of(id, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

std::string MakeRequestId() {
  // The id identifies a request and protects nothing. Therefore a fast generator, seeded once per
  // thread, is enough.
  thread_local std::mt19937_64 source{std::random_device{}()};
  return fmt::format("{:016x}{:016x}", source(), source());
}

}  // namespace polybox::http
