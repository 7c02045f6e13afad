#include "http/doors/multipart.h"

#include <algorithm>
#include <map>

namespace polybox::http {
namespace {

constexpr std::size_t kMostParts = 100;
constexpr std::size_t kMostHeaderBytes = 16U << 10U;
constexpr std::size_t kLongestBoundary = 200;
constexpr std::string_view kLineEnd = "\r\n";

Error Malformed(const char* what) {
  return {ErrorKind::kInvalid, what};
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  }
  return lower;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// The value of a header and its parameters. Parameter names are in lower case.
struct HeaderValue {
  std::string value;
  std::map<std::string, std::string, std::less<>> parameters;
};

/// Returns a quoted text. `text` begins behind the opening quote; the function moves it behind the
/// closing quote.
std::string TakeQuoted(std::string_view& text) {
  std::string out;
  while (!text.empty() && text.front() != '"') {
    const bool escape =
        text.front() == '\\' && text.size() > 1 && (text[1] == '"' || text[1] == '\\');
    if (escape) text.remove_prefix(1);
    out += text.front();
    text.remove_prefix(1);
  }
  if (!text.empty()) text.remove_prefix(1);
  return out;
}

HeaderValue ParseHeaderValue(std::string_view text) {
  HeaderValue header;
  const std::size_t first = std::min(text.find(';'), text.size());
  header.value = Lower(Trim(text.substr(0, first)));
  text.remove_prefix(first);
  while (!text.empty()) {
    text.remove_prefix(1);  // the semicolon
    const std::size_t end = std::min(text.find_first_of("=;"), text.size());
    const std::string name = Lower(Trim(text.substr(0, end)));
    text.remove_prefix(end);
    std::string value;
    if (text.starts_with('=')) {
      text = Trim(text.substr(1));
      if (text.starts_with('"')) {
        text.remove_prefix(1);
        value = TakeQuoted(text);
        text.remove_prefix(std::min(text.find(';'), text.size()));
      } else {
        const std::size_t stop = std::min(text.find(';'), text.size());
        value = Trim(text.substr(0, stop));
        text.remove_prefix(stop);
      }
    }
    header.parameters.try_emplace(name, std::move(value));
  }
  return header;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string PercentDecode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
                        HexDigit(text[i + 2]) >= 0;
    if (escape) {
      out += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// Returns the file name, preferably in the form for other alphabets (RFC 5987).
std::optional<std::string> FileName(const HeaderValue& header) {
  if (const auto extended = header.parameters.find("filename*");
      extended != header.parameters.end()) {
    const std::size_t quote = extended->second.find('\'');
    const std::size_t second =
        quote == std::string::npos ? quote : extended->second.find('\'', quote + 1);
    if (second != std::string::npos && Lower(extended->second.substr(0, quote)) == "utf-8") {
      return PercentDecode(std::string_view(extended->second).substr(second + 1));
    }
  }
  const auto plain = header.parameters.find("filename");
  return plain == header.parameters.end() ? std::nullopt : std::optional(plain->second);
}

/// Returns the Content-Disposition of a part's headers.
HeaderValue Disposition(std::string_view headers) {
  while (!headers.empty()) {
    const std::size_t end = std::min(headers.find(kLineEnd), headers.size());
    const std::string_view line = headers.substr(0, end);
    headers.remove_prefix(std::min(end + kLineEnd.size(), headers.size()));
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos &&
        Lower(Trim(line.substr(0, colon))) == "content-disposition") {
      return ParseHeaderValue(line.substr(colon + 1));
    }
  }
  return {};
}

struct Part {
  std::string_view headers;
  std::string_view content;
};

/// Iterates over the parts of a body.
class Parts {
 public:
  Parts(std::string_view body, const std::string& boundary)
      : rest_(body), delimiter_(std::string(kLineEnd) + "--" + boundary) {}

  /// Moves to the first delimiter, which may be at the very start of the body.
  Status Begin() {
    const std::string_view bare = std::string_view(delimiter_).substr(kLineEnd.size());
    if (rest_.starts_with(bare)) {
      rest_.remove_prefix(bare.size());
      return {};
    }
    const std::size_t at = rest_.find(delimiter_);
    if (at == std::string_view::npos) return Malformed("the boundary is not in the body");
    rest_.remove_prefix(at + delimiter_.size());
    return {};
  }

  /// Returns the next part, or nothing after the last.
  Result<std::optional<Part>> Next() {
    if (rest_.starts_with("--")) return std::optional<Part>();
    while (rest_.starts_with(' ') || rest_.starts_with('\t')) rest_.remove_prefix(1);
    if (!rest_.starts_with(kLineEnd)) return Malformed("a boundary is not at the end of its line");
    // The search includes the line end before the headers, because a part may have no header at
    // all.
    const std::size_t end = rest_.substr(0, kMostHeaderBytes).find("\r\n\r\n");
    if (end == std::string_view::npos) return Malformed("a part has no end of its headers");
    Part part;
    part.headers = rest_.substr(kLineEnd.size(), end < kLineEnd.size() ? 0 : end - kLineEnd.size());
    rest_.remove_prefix(end + 2 * kLineEnd.size());
    const std::size_t stop = rest_.find(delimiter_);
    if (stop == std::string_view::npos) return Malformed("a part has no end");
    part.content = rest_.substr(0, stop);
    rest_.remove_prefix(stop + delimiter_.size());
    return std::optional(part);
  }

 private:
  std::string_view rest_;
  std::string delimiter_;
};

}  // namespace

Result<std::optional<UploadedFile>> FindUpload(std::string_view content_type, std::string_view body,
                                               std::string_view name) {
  const HeaderValue type = ParseHeaderValue(content_type);
  if (type.value != "multipart/form-data") return Malformed("expected multipart/form-data");
  const auto boundary = type.parameters.find("boundary");
  if (boundary == type.parameters.end() || boundary->second.empty() ||
      boundary->second.size() > kLongestBoundary) {
    return Malformed("Missing boundary in multipart.");
  }
  Parts parts(body, boundary->second);
  POLYBOX_RETURN_IF_ERROR(parts.Begin());
  for (std::size_t count = 0; count < kMostParts; ++count) {
    POLYBOX_ASSIGN_OR_RETURN(const std::optional<Part> part, parts.Next());
    if (!part) return std::optional<UploadedFile>();
    const HeaderValue disposition = Disposition(part->headers);
    const auto called = disposition.parameters.find("name");
    if (called == disposition.parameters.end() || called->second != name) continue;
    if (auto filename = FileName(disposition); filename && !filename->empty()) {
      return std::optional(UploadedFile{*std::move(filename), part->content});
    }
  }
  return Malformed("too many parts");
}

}  // namespace polybox::http
