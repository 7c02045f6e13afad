#include "secrets/encoded_forms.h"

#include <algorithm>

#include <fmt/format.h>

namespace polybox::secrets {
namespace {

constexpr std::string_view kStandard =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlSafe =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

bool IsAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Returns the base64 characters that the value alone determines when `before` bytes of other data
/// precede it in its group of three.
Form Base64Form(std::string_view value, std::size_t before, std::string_view alphabet) {
  Form form;
  unsigned bits = 0;
  std::size_t count = 8 * before;
  for (const char c : value) {
    bits = (bits << 8U) | static_cast<unsigned char>(c);
    count += 8;
    while (count >= 6) {
      count -= 6;
      form.text += alphabet[(bits >> count) & 63U];
    }
    bits &= (1U << count) - 1;
  }
  // The bytes before the value fill the first `before` characters and a part of the next one.
  form.shares_before = before != 0;
  form.text.erase(0, before == 0 ? 0 : before + 1);
  form.shares_after = count != 0;
  return form;
}

std::string Hexadecimal(std::string_view value, std::string_view separator, bool upper) {
  std::string text;
  for (const char c : value) {
    if (!text.empty()) text += separator;
    const auto byte = static_cast<unsigned char>(c);
    text += upper ? fmt::format("{:02X}", byte) : fmt::format("{:02x}", byte);
  }
  return text;
}

/// How a URL encoder treats a value.
struct UrlStyle {
  /// Written as they are, besides letters, digits, "-", "_", "." and "~".
  std::string_view plain;
  bool plus_for_space;
  bool upper;
};

std::string UrlEncoded(std::string_view value, const UrlStyle& style) {
  std::string text;
  for (const char c : value) {
    if (IsAlphanumeric(c) || std::string_view("-_.~").find(c) != std::string_view::npos ||
        style.plain.find(c) != std::string_view::npos) {
      text += c;
    } else if (c == ' ' && style.plus_for_space) {
      text += '+';
    } else {
      const auto byte = static_cast<unsigned char>(c);
      text += style.upper ? fmt::format("%{:02X}", byte) : fmt::format("%{:02x}", byte);
    }
  }
  return text;
}

void AddUrlForms(std::string_view value, std::vector<Form>& forms) {
  // Python's quote() leaves "/", encodeURIComponent() "!'()*", and encodeURI() all reserved
  // characters.
  for (const std::string_view plain : {"", "/", "!'()*", "!'()*/;,?:@&=+$#"}) {
    for (const bool plus : {false, true}) {
      for (const bool upper : {false, true}) {
        forms.push_back({.text = UrlEncoded(value, {plain, plus, upper})});
      }
    }
  }
}

/// How a JSON encoder treats characters that it need not escape.
struct JsonStyle {
  bool escapes_slash;
  bool escapes_html;
  bool ascii;
};

/// Returns the code point at the start of `text`, and removes its bytes. A byte that is not UTF-8
/// is returned as itself.
unsigned TakeCodePoint(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
  if (size > text.size()) {
    text.remove_prefix(1);
    return first;
  }
  unsigned point = size == 1 ? first : first & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    point = (point << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  text.remove_prefix(size);
  return point;
}

/// Returns \u00e9, or a pair of such escapes for a code point above U+FFFF.
std::string UnicodeEscape(unsigned point) {
  if (point < 0x10000) return fmt::format("\\u{:04x}", point);
  const unsigned rest = point - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10U), 0xDC00 + (rest & 0x3FFU));
}

std::string JsonEscaped(std::string_view value, const JsonStyle& style) {
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  std::string text;
  while (!value.empty()) {
    const std::string_view before = value;
    const unsigned point = TakeCodePoint(value);
    const char c = before.front();
    const std::size_t known = kShort.find(c);
    const bool html = style.escapes_html && (c == '<' || c == '>' || c == '&');
    if (known != std::string_view::npos) {
      text += {'\\', kLetters[known]};
    } else if (c == '/' && style.escapes_slash) {
      text += "\\/";
    } else if (point < 0x20 || html || (point >= 0x80 && style.ascii)) {
      text += UnicodeEscape(point);
    } else {
      text += before.substr(0, before.size() - value.size());
    }
  }
  return text;
}

void AddJsonForms(std::string_view value, std::vector<Form>& forms) {
  for (const bool slash : {false, true}) {
    for (const bool html : {false, true}) {
      for (const bool ascii : {false, true}) {
        forms.push_back({.text = JsonEscaped(value, {slash, html, ascii})});
      }
    }
  }
  // JSON inside a string of JSON.
  const std::string once = JsonEscaped(value, {});
  forms.push_back({.text = JsonEscaped(once, {})});
}

std::string HtmlEscaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    switch (c) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '"':
        text += "&quot;";
        break;
      default:
        text += c;
    }
  }
  return text;
}

void AddHexForms(std::string_view value, std::vector<Form>& forms) {
  for (const bool upper : {false, true}) {
    // As by `xxd -p`, `od -t x1`, a fingerprint, a C string and a URL that encodes everything.
    for (const std::string_view separator : {"", " ", ":", "\\x", "%", "-", ", 0x"}) {
      forms.push_back({.text = Hexadecimal(value, separator, upper)});
    }
  }
}

}  // namespace

std::vector<Form> FormsOf(std::string_view value) {
  std::vector<Form> forms = {{.text = std::string(value)}};
  for (const std::string_view alphabet : {kStandard, kUrlSafe}) {
    for (const std::size_t before : {0U, 1U, 2U}) {
      forms.push_back(Base64Form(value, before, alphabet));
    }
  }
  AddHexForms(value, forms);
  AddUrlForms(value, forms);
  AddJsonForms(value, forms);
  forms.push_back({.text = HtmlEscaped(value)});
  std::vector<Form> different;
  for (Form& form : forms) {
    if (std::ranges::count(different, form.text, &Form::text) == 0) {
      different.push_back(std::move(form));
    }
  }
  return different;
}

}  // namespace polybox::secrets
