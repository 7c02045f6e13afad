#include "fuzz/framing_oracle.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace polybox::fuzz {
namespace {

using End = ParsedStream::End;
using Field = std::pair<std::string, std::string>;

constexpr std::string_view kTokenCharacters =
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool IsToken(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kTokenCharacters) == std::string_view::npos;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string_view Strip(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool HasForbidden(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 32 && byte != 9) || byte == 127) return true;
  }
  return false;
}

/// The lines of a section that ends with an empty line; takes them from `text`.
End TakeLines(std::string_view& text, std::vector<std::string_view>& lines) {
  while (true) {
    std::size_t at = 0;
    while (at < text.size() && !HasForbidden(text.substr(at, 1))) ++at;
    if (at == text.size()) return End::kIncomplete;
    if (text[at] != '\r') return End::kBad;
    if (at + 1 == text.size()) return End::kIncomplete;
    if (text[at + 1] != '\n') return End::kBad;
    const std::string_view line = text.substr(0, at);
    text.remove_prefix(at + 2);
    if (line.empty() && !lines.empty()) return End::kDone;
    lines.push_back(line);
    // An empty first line is no start of a request; the end of the section decides.
    if (line.empty() && text.starts_with("\r\n")) return End::kBad;
  }
}

bool SplitField(std::string_view line, Field& field) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) return false;
  field = {Lower(line.substr(0, colon)), std::string(Strip(line.substr(colon + 1)))};
  return true;
}

/// A list of options, empty ones allowed; nothing when it is no such list.
std::optional<std::vector<std::string>> Options(std::string_view text) {
  std::vector<std::string> options;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view option = Strip(text.substr(0, comma));
    if (!option.empty() && !IsToken(option)) return std::nullopt;
    if (!option.empty()) options.push_back(Lower(option));
    if (comma == std::string_view::npos) return options;
    text.remove_prefix(comma + 1);
  }
}

struct Head {
  ParsedRequest request;
  bool http10 = false;
  bool close = false;
  bool keep_alive = false;
  bool chunked = false;
  std::optional<std::uint64_t> length;
  int hosts = 0;
};

bool ReadRequestLine(std::string_view line, Head& head) {
  const std::size_t first = line.find(' ');
  if (first == std::string_view::npos) return false;
  const std::size_t second = line.find(' ', first + 1);
  if (second == std::string_view::npos) return false;
  head.request.method = line.substr(0, first);
  head.request.target = line.substr(first + 1, second - first - 1);
  const std::string_view version = line.substr(second + 1);
  head.http10 = version == "HTTP/1.0";
  return IsToken(head.request.method) && !head.request.target.empty() &&
         head.request.target.find('\t') == std::string::npos &&
         (head.http10 || version == "HTTP/1.1");
}

bool ReadConnection(std::string_view value, Head& head) {
  const auto options = Options(value);
  if (!options) return false;
  for (const std::string& option : *options) {
    if (option == "close") head.close = true;
    if (option == "keep-alive") head.keep_alive = true;
  }
  return true;
}

bool ReadField(const Field& field, Head& head) {
  const auto& [name, value] = field;
  if (name == "host") ++head.hosts;
  if (name == "connection" || name == "proxy-connection") return ReadConnection(value, head);
  if (name == "transfer-encoding") {
    if (head.chunked || Lower(value) != "chunked") return false;
    head.chunked = true;
  }
  if (name == "content-length") {
    if (head.length || value.empty()) return false;
    std::uint64_t length = 0;
    for (const char c : value) {
      if (c < '0' || c > '9') return false;
      const auto digit = static_cast<std::uint64_t>(c - '0');
      if (length > (UINT64_MAX - digit) / 10) return false;
      length = length * 10 + digit;
    }
    head.length = length;
  }
  return true;
}

End TakeHead(std::string_view& text, Head& head) {
  std::vector<std::string_view> lines;
  const End end = TakeLines(text, lines);
  if (end != End::kDone) return end;
  if (!ReadRequestLine(lines[0], head)) return End::kBad;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    Field field;
    if (!SplitField(lines[i], field) || !ReadField(field, head)) return End::kBad;
  }
  if (head.chunked && (head.length || head.http10)) return End::kBad;
  return head.http10 || head.hosts == 1 ? End::kDone : End::kBad;
}

/// What follows the size of a chunk: ";name", ";name=token" and ";name=\"quoted\"", with blanks.
bool AreExtensions(std::string_view text) {
  const auto skip_blanks = [&text] {
    while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  };
  const auto take_token = [&text] {
    const std::size_t size = std::min(text.find_first_not_of(kTokenCharacters), text.size());
    text.remove_prefix(size);
    return size > 0;
  };
  while (!text.empty()) {
    skip_blanks();
    if (!text.starts_with(';')) return false;
    text.remove_prefix(1);
    skip_blanks();
    if (!take_token()) return false;
    const std::string_view after_name = text;
    skip_blanks();
    if (!text.starts_with('=')) {
      text = after_name;
      continue;
    }
    text.remove_prefix(1);
    skip_blanks();
    if (!text.starts_with('"')) {
      if (!take_token()) return false;
      continue;
    }
    text.remove_prefix(1);
    while (!text.empty() && text[0] != '"') text.remove_prefix(text[0] == '\\' ? 2 : 1);
    if (text.empty()) return false;
    text.remove_prefix(1);
  }
  return true;
}

/// The size in a chunk's first line; nothing when that is no such line.
std::optional<std::uint64_t> ChunkSize(std::string_view line) {
  const std::size_t digits =
      std::min(line.find_first_not_of("0123456789abcdefABCDEF"), line.size());
  if (digits == 0 || !AreExtensions(line.substr(digits))) return std::nullopt;
  std::uint64_t size = 0;
  for (const char c : Lower(line.substr(0, digits))) {
    if (size >> 60U != 0) return std::nullopt;
    size = size * 16 + static_cast<std::uint64_t>(c >= 'a' ? c - 'a' + 10 : c - '0');
  }
  return size;
}

/// A line of a body in chunks, without its end.
bool TakeLine(std::string_view& text, std::string_view& line) {
  const std::size_t end = text.find("\r\n");
  if (end == std::string_view::npos) return false;
  line = text.substr(0, end);
  text.remove_prefix(end + 2);
  return !HasForbidden(line);
}

/// Fields after the last chunk. A folded one is passed over: nothing is read from them.
bool TakeTrailers(std::string_view& text) {
  std::string_view line;
  Field field;
  bool any = false;
  while (TakeLine(text, line)) {
    if (line.empty()) return true;
    if (any && (line[0] == ' ' || line[0] == '\t')) {
      field.second += " " + std::string(Strip(line));
    } else if (!SplitField(line, field)) {
      return false;
    }
    any = true;
    if (field.first == "content-length" || field.first == "transfer-encoding") return false;
    Head ignored;
    const bool folds = text.starts_with(' ') || text.starts_with('\t');
    if (!folds && !ReadField(field, ignored)) return false;
  }
  return false;
}

bool TakeChunks(std::string_view& text, std::string& body) {
  while (true) {
    std::string_view line;
    if (!TakeLine(text, line)) return false;
    const auto size = ChunkSize(line);
    if (!size) return false;
    if (*size == 0) return TakeTrailers(text);
    if (*size > text.size()) return false;
    body += text.substr(0, *size);
    text.remove_prefix(*size);
    if (!text.starts_with("\r\n")) return false;
    text.remove_prefix(2);
  }
}

bool TakeBody(std::string_view& text, Head& head) {
  if (head.chunked) return TakeChunks(text, head.request.body);
  const std::uint64_t length = head.length.value_or(0);
  if (length > text.size()) return false;
  head.request.body = text.substr(0, length);
  text.remove_prefix(length);
  return true;
}

}  // namespace

ParsedStream ParseStream(std::string_view text) {
  ParsedStream stream;
  while (!text.empty()) {
    if (text.starts_with("\r\n")) text.remove_prefix(2);
    Head head;
    stream.end = TakeHead(text, head);
    if (stream.end != End::kDone) return stream;
    if (!TakeBody(text, head)) {
      stream.end = End::kBody;
      return stream;
    }
    stream.requests.push_back(std::move(head.request));
    if (head.http10 ? !head.keep_alive : head.close) return stream;
  }
  return stream;
}

}  // namespace polybox::fuzz
