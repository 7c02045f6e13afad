#include "http/doors/go_json/reader.h"

#include <charconv>

#include <fmt/format.h>

#include "base/printable.h"

namespace polybox::http {
namespace {

/// U+FFFD, which stands for bytes that are not UTF-8 and for half a surrogate pair, as in Go.
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// Appends a code point as UTF-8. The caller passes no surrogates.
void AppendUtf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0U | (code >> 6U));
    put(0x80U | (code & 0x3fU));
  } else if (code < 0x10000) {
    put(0xe0U | (code >> 12U));
    put(0x80U | ((code >> 6U) & 0x3fU));
    put(0x80U | (code & 0x3fU));
  } else {
    put(0xf0U | (code >> 18U));
    put(0x80U | ((code >> 12U) & 0x3fU));
    put(0x80U | ((code >> 6U) & 0x3fU));
    put(0x80U | (code & 0x3fU));
  }
}

/// Returns the value of the four digits after \u, which the scanner has checked.
std::uint32_t HexCode(std::string_view digits) {
  std::uint32_t code = 0;
  std::from_chars(digits.data(), digits.data() + 4, code, 16);
  return code;
}

/// Appends the character of an escape. `at` is behind "\u"; the function moves it behind the
/// escape, or behind both escapes of a surrogate pair.
void AppendUnicodeEscape(std::string& out, std::string_view text, std::size_t& at) {
  const std::uint32_t code = HexCode(text.substr(at));
  at += 4;
  if (code < 0xd800 || code > 0xdfff) return AppendUtf8(out, code);
  if (code < 0xdc00 && text.substr(at, 2) == "\\u") {
    const std::uint32_t low = HexCode(text.substr(at + 2));
    if (low >= 0xdc00 && low <= 0xdfff) {
      at += 6;
      return AppendUtf8(out, 0x10000 + ((code - 0xd800) << 10U) + (low - 0xdc00));
    }
  }
  out += kReplacement;
}

/// Returns the text of a string without its quotes. The scanner has checked the string.
std::string Unquote(std::string_view text) {
  constexpr std::string_view kEscapes = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\\') {
      const char c = text[at + 1];
      at += 2;
      if (c == 'u') {
        AppendUnicodeEscape(out, text, at);
      } else {
        out += kMeanings[kEscapes.find(c)];
      }
      continue;
    }
    const std::size_t length = Utf8SequenceLength(text.substr(at));
    out += length == 0 ? kReplacement : text.substr(at, length);
    at += length == 0 ? 1 : length;
  }
  return out;
}

/// Returns the text in lower case. Like Go, folds the two letters outside ASCII that equal s and k.
std::string Fold(std::string_view text) {
  constexpr std::string_view kLongS = "\u017f";
  constexpr std::string_view kKelvin = "\u212a";
  std::string folded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at).starts_with(kLongS)) {
      folded += 's';
      at += kLongS.size() - 1;
    } else if (text.substr(at).starts_with(kKelvin)) {
      folded += 'k';
      at += kKelvin.size() - 1;
    } else {
      const char c = text[at];
      folded += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return folded;
}

std::string_view KindName(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kBool:
      return "bool";
    case JsonKind::kNumber:
      return "number";
    case JsonKind::kString:
      return "string";
    case JsonKind::kArray:
      return "array";
    case JsonKind::kObject:
      return "object";
  }
  return "";
}

}  // namespace

bool KeyIs(std::string_view key, std::string_view name) {
  return key == name || Fold(key) == name;
}

/// The first character tells the kind, because the scanner has accepted the text. The same holds
/// for all functions below: none checks the syntax again.
JsonKind JsonReader::Peek() const {
  switch (text_[at_]) {
    case '{':
      return JsonKind::kObject;
    case '[':
      return JsonKind::kArray;
    case '"':
      return JsonKind::kString;
    case 't':
    case 'f':
      return JsonKind::kBool;
    case 'n':
      return JsonKind::kNull;
    default:
      return JsonKind::kNumber;
  }
}

bool JsonReader::Object(const JsonField& field,
                        const std::function<void(const std::string& key)>& member) {
  if (!Expect(JsonKind::kObject, field)) return false;
  ++at_;
  SkipBlanks();
  while (text_[at_] != '}') {
    const std::string key = TakeString();
    SkipBlanks();
    ++at_;  // the colon
    SkipBlanks();
    const std::size_t value = at_;
    member(key);
    EndValue(value);
  }
  ++at_;
  return true;
}

/// If the caller has not read the value, it is skipped here. So a caller reads only the members
/// that it knows.
void JsonReader::EndValue(std::size_t begin) {
  if (at_ == begin) Skip();
  SkipBlanks();
  if (text_[at_] == ',') ++at_;
  SkipBlanks();
}

bool JsonReader::Array(const JsonField& field, const std::function<void()>& item) {
  if (!Expect(JsonKind::kArray, field)) return false;
  ++at_;
  SkipBlanks();
  while (text_[at_] != ']') {
    const std::size_t value = at_;
    item();
    EndValue(value);
  }
  ++at_;
  return true;
}

bool JsonReader::String(const JsonField& field, std::string& value) {
  if (!Expect(JsonKind::kString, field)) return false;
  value = TakeString();
  return true;
}

/// Go reads no fraction and no exponent into an integer, not even 1.0 or 1e2.
bool JsonReader::Integer(const JsonField& field, std::int64_t& value) {
  if (!Expect(JsonKind::kNumber, field)) return false;
  const std::string_view digits = Skip();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  if (error != std::errc() || end != digits.end()) {
    Complain(fmt::format("number {}", Printable(digits, 64)), field);
    return false;
  }
  value = number;
  return true;
}

bool JsonReader::Bool(const JsonField& field, bool& value) {
  if (!Expect(JsonKind::kBool, field)) return false;
  value = Skip() == "true";
  return true;
}

/// Counts brackets outside of strings, so nothing is built and the depth costs no stack.
std::string_view JsonReader::Skip() {
  const std::size_t begin = at_;
  std::size_t depth = 0;
  do {
    const char c = text_[at_];
    if (c == '"') {
      SkipString();
    } else {
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      ++at_;
      // A number or a word ends at the first character that cannot belong to it.
      while (depth == 0 && at_ < text_.size() && c != '}' && c != ']' &&
             std::string_view(",]} \t\r\n").find(text_[at_]) == std::string_view::npos) {
        ++at_;
      }
    }
  } while (depth > 0);
  return text_.substr(begin, at_ - begin);
}

void JsonReader::SkipBlanks() {
  while (at_ < text_.size() &&
         std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
    ++at_;
  }
}

void JsonReader::SkipString() {
  for (++at_; text_[at_] != '"'; ++at_) {
    if (text_[at_] == '\\') ++at_;
  }
  ++at_;
}

std::string JsonReader::TakeString() {
  const std::size_t begin = at_ + 1;
  SkipString();
  return Unquote(text_.substr(begin, at_ - 1 - begin));
}

/// A null is skipped without a complaint: in Go it leaves the variable as it is.
bool JsonReader::Expect(JsonKind kind, const JsonField& field) {
  const JsonKind found = Peek();
  if (found == kind) return true;
  if (found != JsonKind::kNull) Complain(KindName(found), field);
  Skip();
  return false;
}

/// Keeps the first complaint only. Go goes on decoding after a wrong type, but reports the first.
void JsonReader::Complain(std::string_view found, const JsonField& field) {
  if (!complaint_.empty()) return;
  const std::string target =
      field.name.empty() ? fmt::format("Go value of type {}", type_)
                         : fmt::format("Go struct field {}.{} of type {}",
                                       type_.substr(type_.rfind('.') + 1), field.name, field.type);
  complaint_ = fmt::format("json: cannot unmarshal {} into {}", found, target);
}

}  // namespace polybox::http
