#include "http/framing.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "http/exchange.h"

namespace polybox::http {
namespace {

constexpr std::string_view kEmptyLine = "\r\n\r\n";

bool IsControl(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

bool IsTokenCharacter(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kOthers.find(c) != std::string_view::npos;
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

Error Broken(const char* rule) {
  return {ErrorKind::kInvalid, rule};
}

std::optional<std::uint64_t> DecimalLength(std::string_view text) {
  std::uint64_t length = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, length);
  // For an unsigned number, from_chars() accepts no sign and no prefix.
  if (text.empty() || error != std::errc() || end != last) return std::nullopt;
  return length;
}

/// Collects the fields of a head that determine the length of the body.
class FramingFields {
 public:
  Status Take(std::string_view name, std::string_view value) {
    if (SameName(name, "Content-Length")) {
      if (framing_.length) return Broken("Content-Length must not be repeated");
      framing_.length = DecimalLength(value);
      if (!framing_.length) return Broken("Content-Length must be one decimal number");
    } else if (SameName(name, "Transfer-Encoding")) {
      if (framing_.chunked) return Broken("Transfer-Encoding must not be repeated");
      // The names of codings are case-insensitive.
      if (!SameName(value, "chunked")) return Broken("Transfer-Encoding must be chunked or absent");
      framing_.chunked = true;
    }
    return {};
  }

  Result<Framing> Finish(bool http10) const {
    if (framing_.chunked && framing_.length) {
      return Broken("Transfer-Encoding and Content-Length exclude each other");
    }
    if (framing_.chunked && http10) return Broken("HTTP/1.0 has no Transfer-Encoding");
    return framing_;
  }

 private:
  Framing framing_;
};

}  // namespace

bool HasControl(std::string_view text) {
  return std::ranges::any_of(text, IsControl);
}

HeadEnd::State HeadEnd::Look(std::string_view text) {
  for (; at_ < text.size(); ++at_) {
    const char c = text[at_];
    if (c == '\r') {
      if (at_ + 1 == text.size()) return State::kMore;
      if (text[at_ + 1] != '\n') return State::kBad;
    } else if (c == '\n') {
      if (at_ == 0 || text[at_ - 1] != '\r') return State::kBad;
      if (!text.substr(0, at_ + 1).ends_with(kEmptyLine)) continue;
      ++at_;
      return State::kFound;
    } else if (IsControl(c)) {
      return State::kBad;
    }
  }
  return State::kMore;
}

Result<Framing> ReadFraming(std::string_view head) {
  FramingFields fields;
  std::size_t end = head.find("\r\n");
  const bool http10 = head.substr(0, end).ends_with(" HTTP/1.0");
  for (std::size_t begin = end + 2; begin < head.size(); begin = end + 2) {
    end = head.find("\r\n", begin);
    const std::string_view line = head.substr(begin, end - begin);
    if (line.empty()) break;
    if (line[0] == ' ' || line[0] == '\t') return Broken("a field must not be folded");
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || name.empty() ||
        !std::ranges::all_of(name, IsTokenCharacter)) {
      return Broken("a field must be a name, a colon directly after the name, and a value");
    }
    POLYBOX_RETURN_IF_ERROR(fields.Take(name, Trimmed(line.substr(colon + 1))));
  }
  return fields.Finish(http10);
}

}  // namespace polybox::http
