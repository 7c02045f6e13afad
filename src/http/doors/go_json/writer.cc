#include "http/doors/go_json/writer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/printable.h"

namespace polybox::http {
namespace {

/// Appends the escape of an ASCII character: the short form where Go uses it, else \u and four
/// digits.
void AppendEscaped(std::string& out, char c) {
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  if (const std::size_t at = kShort.find(c); at != std::string_view::npos) {
    out += '\\';
    out += kLetters[at];
  } else {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
  }
}

/// For each byte: whether it is an ASCII character that needs no escape in a string.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = true;
  for (const char c : std::string_view("\"\\<>&")) plain[static_cast<unsigned char>(c)] = false;
  return plain;
}();

/// Returns how many bytes at the start need no escape.
std::size_t PlainLength(std::string_view text) {
  const auto* end =
      std::ranges::find_if_not(text, [](char c) { return kPlain[static_cast<unsigned char>(c)]; });
  return static_cast<std::size_t>(end - text.begin());
}

/// Appends a string with its quotes. Copies as much as possible at once, because most text needs no
/// escape.
void AppendQuoted(std::string& out, std::string_view text) {
  // Output of programs is large and has at least one escape per line.
  out.reserve(out.size() + text.size() + text.size() / 16 + 2);
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t plain = PlainLength(text.substr(at));
    out.append(text, at, plain);
    at += plain;
    if (at == text.size()) break;
    const char c = text[at];
    if (static_cast<unsigned char>(c) < 0x80) {
      ++at;
      AppendEscaped(out, c);
      continue;
    }
    const std::size_t length = Utf8SequenceLength(text.substr(at));
    const std::string_view sequence = text.substr(at, length);
    if (length == 0) {
      out += "\\ufffd";
    } else if (sequence == "\u2028") {
      out += "\\u2028";
    } else if (sequence == "\u2029") {
      out += "\\u2029";
    } else {
      out += sequence;
    }
    at += length == 0 ? 1 : length;
  }
  out += '"';
}

}  // namespace

JsonWriter& JsonWriter::Key(std::string_view key) {
  Separate();
  AppendQuoted(text_, key);
  text_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view value) {
  Separate();
  AppendQuoted(text_, value);
  return *this;
}

JsonWriter& JsonWriter::Raw(std::string_view json) {
  Separate();
  text_ += json;
  return *this;
}

JsonWriter& JsonWriter::Open(char bracket) {
  Separate();
  text_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  text_ += bracket;
  needs_comma_ = true;
  return *this;
}

void JsonWriter::Separate() {
  if (needs_comma_) text_ += ',';
  needs_comma_ = true;
}

std::string QuoteJson(std::string_view text) {
  std::string out;
  AppendQuoted(out, text);
  return out;
}

std::string JsonSeconds(Duration time) {
  return fmt::format("{}", std::chrono::duration<double>(time).count());
}

}  // namespace polybox::http
