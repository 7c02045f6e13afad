#include "base/printable.h"

#include <cstdint>

#include <fmt/format.h>

namespace polybox {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool IsContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Returns whether the code is a control character (C0, DEL, C1) or changes the direction of text.
bool IsDangerous(std::uint32_t code) {
  return code < 0x20U || (code >= 0x7FU && code <= 0x9FU) || code == 0x200EU || code == 0x200FU ||
         (code >= 0x202AU && code <= 0x202EU) || (code >= 0x2066U && code <= 0x2069U);
}

std::uint32_t Decode(std::string_view sequence) {
  constexpr std::uint32_t kFirstBits[] = {0, 0x7FU, 0x1FU, 0x0FU, 0x07U};
  std::uint32_t code = static_cast<unsigned char>(sequence[0]) & kFirstBits[sequence.size()];
  for (const char c : sequence.substr(1))
    code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
  return code;
}

void AppendEscaped(std::string& out, std::uint32_t code) {
  switch (code) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += fmt::format("\\u{:04x}", code);
  }
}

enum class Quotes { kPlain, kEscaped };

/// Escapes dangerous characters and replaces invalid bytes by U+FFFD. Stops when the output has
/// `longest` bytes or more.
std::string Escape(std::string_view text, std::size_t longest, Quotes quotes) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size() && out.size() < longest) {
    const char c = text[at];
    const std::size_t length = Utf8SequenceLength(text.substr(at));
    if (length == 0) {
      out += kReplacement;
    } else if (const std::uint32_t code = Decode(text.substr(at, length)); IsDangerous(code)) {
      AppendEscaped(out, code);
    } else {
      if (quotes == Quotes::kEscaped && (c == '"' || c == '\\')) out += '\\';
      out += text.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  if (at < text.size()) out += "...";
  return out;
}

}  // namespace

std::size_t Utf8SequenceLength(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80U) return 1;
  std::size_t length = 0;
  std::uint32_t smallest = 0;  // a smaller code has a shorter sequence, so this one is not valid
  if ((first & 0xE0U) == 0xC0U) {
    length = 2, smallest = 0x80U;
  } else if ((first & 0xF0U) == 0xE0U) {
    length = 3, smallest = 0x800U;
  } else if ((first & 0xF8U) == 0xF0U) {
    length = 4, smallest = 0x10000U;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[i])) return 0;
  }
  const std::uint32_t code = Decode(text.substr(0, length));
  // UTF-8 must not encode surrogates.
  const bool surrogate = code >= 0xD800U && code <= 0xDFFFU;
  return code < smallest || code > 0x10FFFFU || surrogate ? 0 : length;
}

std::string ToUtf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = Utf8SequenceLength(bytes);
    out += length == 0 ? kReplacement : bytes.substr(0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string Printable(std::string_view text, std::size_t longest) {
  return Escape(text, longest, Quotes::kPlain);
}

std::string PrintableForQuotes(std::string_view text, std::size_t longest) {
  return Escape(text, longest, Quotes::kEscaped);
}

}  // namespace polybox
