#include "http/doors/go_json/scan.h"

#include <vector>

#include <fmt/format.h>

namespace polybox::http {
namespace {

/// The same depth as in Go.
constexpr std::size_t kDeepest = 10000;

/// The white space of JSON. Other white space of Unicode is an error.
bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsHexDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// Quotes a byte like Go, which takes each byte for a code point.
std::string QuoteByte(char c) {
  constexpr std::string_view kControls = "\a\b\f\n\r\t\v";
  constexpr std::string_view kLetters = "abfnrtv";
  const auto byte = static_cast<unsigned char>(c);
  if (c == '\'' || c == '\\') return fmt::format("'\\{}'", c);
  if (const std::size_t at = kControls.find(c); at != std::string_view::npos) {
    return fmt::format("'\\{}'", kLetters[at]);
  }
  if (byte < 0x20 || byte == 0x7f) return fmt::format("'\\x{:02x}'", byte);
  if (byte < 0x80) return fmt::format("'{}'", c);
  // Neither the C1 controls nor the two invisible characters (U+00A0, U+00AD) are printable.
  if (byte <= 0xa0 || byte == 0xad) return fmt::format("'\\u{:04x}'", byte);
  const char first = static_cast<char>(0xc0U | (byte >> 6U));
  const char second = static_cast<char>(0x80U | (byte & 0x3fU));
  return fmt::format("'{}{}'", first, second);
}

/// Checks the syntax of one value token by token. The open brackets are on a stack of its own, so a
/// deep text costs memory but cannot exhaust the stack of the thread.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::variant<std::string_view, JsonSyntaxError> Scan() {
    SkipBlanks();
    if (at_ == text_.size()) return JsonSyntaxError{"EOF"};
    const std::size_t begin = at_;
    do {
      if (!Step()) return JsonSyntaxError{std::move(error_)};
    } while (!done_);
    return text_.substr(begin, at_ - begin);
  }

 private:
  enum class Expect { kValue, kValueOrEnd, kKey, kKeyOrEnd, kAfterValue };

  /// Reads one token. Returns false and sets error_ when the token is wrong.
  bool Step() {
    SkipBlanks();
    if (at_ == text_.size()) return Ended();
    switch (expect_) {
      case Expect::kKeyOrEnd:
        if (text_[at_] == '}') return Close();
        return Key();
      case Expect::kKey:
        return Key();
      case Expect::kValueOrEnd:
        if (text_[at_] == ']') return Close();
        return Value();
      case Expect::kValue:
        return Value();
      case Expect::kAfterValue:
        return Separator();
    }
    return false;
  }

  /// Reads a scalar value, or the opening bracket of an array or object.
  bool Value() {
    const char c = text_[at_];
    if (c == '{') return Open('}', Expect::kKeyOrEnd);
    if (c == '[') return Open(']', Expect::kValueOrEnd);
    if (c == '"') return String() && Complete();
    if (c == '-' || IsDigit(c)) return Number() && Complete();
    if (c == 't') return Literal("true") && Complete();
    if (c == 'f') return Literal("false") && Complete();
    if (c == 'n') return Literal("null") && Complete();
    return Wrong("looking for beginning of value");
  }

  /// Reads a key and its colon.
  bool Key() {
    if (text_[at_] != '"') return Wrong("looking for beginning of object key string");
    if (!String()) return false;
    SkipBlanks();
    if (at_ == text_.size()) return Ended();
    if (text_[at_] != ':') return Wrong("after object key");
    ++at_;
    expect_ = Expect::kValue;
    return true;
  }

  /// Reads what follows a value inside an object or array: a comma or the end.
  bool Separator() {
    const bool object = open_.back() == '}';
    if (text_[at_] == ',') {
      ++at_;
      expect_ = object ? Expect::kKey : Expect::kValue;
      return true;
    }
    if (text_[at_] == open_.back()) return Close();
    return Wrong(object ? "after object key:value pair" : "after array element");
  }

  bool Open(char close, Expect next) {
    if (open_.size() == kDeepest) return Wrong("exceeded max depth");
    open_.push_back(close);
    ++at_;
    expect_ = next;
    return true;
  }

  /// Leaves the innermost object or array. The value ends with the outermost one.
  bool Close() {
    open_.pop_back();
    ++at_;
    return Complete();
  }

  bool Complete() {
    expect_ = Expect::kAfterValue;
    done_ = open_.empty();
    return true;
  }

  bool String() {
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return Wrong("in string literal");
      if (c == '\\' && !Escape()) return false;
    }
    return Ended();
  }

  /// Checks an escape. Leaves at_ on its last character.
  bool Escape() {
    if (++at_ == text_.size()) return Ended();
    if (std::string_view("\"\\/bfnrt").find(text_[at_]) != std::string_view::npos) return true;
    if (text_[at_] != 'u') return Wrong("in string escape code");
    for (int i = 0; i < 4; ++i) {
      if (++at_ == text_.size()) return Ended();
      if (!IsHexDigit(text_[at_])) return Wrong("in \\u hexadecimal character escape");
    }
    return true;
  }

  bool Number() {
    if (text_[at_] == '-') ++at_;
    if (at_ == text_.size()) return Ended();
    if (text_[at_] == '0') {
      ++at_;
    } else if (!Digits("in numeric literal")) {
      return false;
    }
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      if (!Digits("after decimal point in numeric literal")) return false;
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (!Digits("in exponent of numeric literal")) return false;
    }
    return true;
  }

  /// Reads one or more digits.
  bool Digits(const char* context) {
    if (at_ == text_.size()) return Ended();
    if (!IsDigit(text_[at_])) return Wrong(context);
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
    return true;
  }

  bool Literal(std::string_view word) {
    for (const char expected : word) {
      if (at_ == text_.size()) return Ended();
      if (text_[at_] != expected) {
        return Wrong(fmt::format("in literal {} (expecting '{}')", word, expected));
      }
      ++at_;
    }
    return true;
  }

  void SkipBlanks() {
    while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
  }

  bool Ended() {
    error_ = "unexpected EOF";
    return false;
  }

  bool Wrong(std::string_view context) {
    error_ = fmt::format("invalid character {} {}", QuoteByte(text_[at_]), context);
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Expect expect_ = Expect::kValue;
  /// The closing bracket of each open object and array.
  std::vector<char> open_;
  bool done_ = false;
  std::string error_;
};

}  // namespace

std::variant<std::string_view, JsonSyntaxError> FirstJsonValue(std::string_view text) {
  return Scanner(text).Scan();
}

}  // namespace polybox::http
