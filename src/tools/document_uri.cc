#include "tools/document_uri.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/printable.h"

namespace polybox::tools {
namespace {

constexpr std::string_view kFileBegin = "file://";
constexpr std::size_t kShownUri = 400;

Error BadUri(std::string_view uri, std::string_view why) {
  return Error(ErrorKind::kInvalid, fmt::format("{}: {}", Printable(uri, kShownUri), why));
}

/// Reads "from=1&bytes=2" into `parsed`. Returns false if it is something else.
bool ReadQuery(std::string_view query, OutputUri& parsed) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = pair.substr(0, equals);
    const std::string_view text = pair.substr(equals + 1);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return false;
    if (name == "from") {
      parsed.from = number;
    } else if (name == "bytes") {
      parsed.bytes = number;
    } else {
      return false;
    }
  }
  return true;
}

/// Returns the value of a hexadecimal digit, or -1.
int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

std::optional<Result<OutputUri>> ParseOutputUri(std::string_view uri) {
  if (!uri.starts_with(kOutputUriBegin)) return std::nullopt;
  std::string_view rest = uri.substr(kOutputUriBegin.size());
  const std::size_t question = rest.find('?');
  OutputUri parsed;
  if (question != std::string_view::npos && !ReadQuery(rest.substr(question + 1), parsed)) {
    return BadUri(uri, "only from=N and bytes=N can follow the question mark");
  }
  rest = rest.substr(0, question);
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos || rest.find('/', slash + 1) != std::string_view::npos) {
    return BadUri(uri, "expected output:///SHELL_ID/STREAM");
  }
  parsed.shell_id = rest.substr(0, slash);
  parsed.stream = rest.substr(slash + 1);
  return parsed;
}

std::optional<Result<std::string>> PathOfFileUri(std::string_view uri) {
  if (!uri.starts_with(kFileBegin)) return std::nullopt;
  std::string_view rest = uri.substr(kFileBegin.size());
  if (rest.starts_with("localhost/")) rest.remove_prefix(9);
  if (!rest.starts_with('/')) return BadUri(uri, "only files of this host can be read");
  std::string path;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] != '%') {
      path += rest[i];
      continue;
    }
    const int high = i + 2 < rest.size() ? DigitOf(rest[i + 1]) : -1;
    const int low = i + 2 < rest.size() ? DigitOf(rest[i + 2]) : -1;
    if (high < 0 || low < 0) return BadUri(uri, "a percent sign needs two hexadecimal digits");
    path += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (path.find('\0') != std::string::npos) return BadUri(uri, "a path has no NUL");
  return path;
}

}  // namespace polybox::tools
