// Reads JSON into typed members the way Go's encoding/json does, which both dialects' clients rely
// on: keys match in any case, unknown keys are skipped, of two equal keys the last wins, null
// leaves a member as it is, text that is not UTF-8 becomes U+FFFD. The first value of a wrong type
// is remembered and reading goes on. Nothing is built but what is asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace polybox::http {

enum class JsonKind { kNull, kBool, kNumber, kString, kArray, kObject };

/// What the reader reads into, for its complaints: `executeRequest.timeout_seconds`, `int`.
struct JsonField {
  std::string_view name;
  std::string_view type;
};

class JsonReader {
 public:
  /// `value` is what FirstJsonValue found and must outlive the reader; `type` is the name of what
  /// it is read into.
  JsonReader(std::string_view value, std::string type) : text_(value), type_(std::move(type)) {}

  /// Of the value that comes next.
  JsonKind Peek() const;

  // Each of these consumes the next value. False: it was null, or of another type (a complaint).

  /// `member` is called for each key and may read the value; if it does not, it is skipped. A
  /// `field` without a name is the whole.
  bool Object(const JsonField& field, const std::function<void(const std::string& key)>& member);
  bool Array(const JsonField& field, const std::function<void()>& item);
  bool String(const JsonField& field, std::string& value);
  bool Integer(const JsonField& field, std::int64_t& value);
  bool Bool(const JsonField& field, bool& value);
  /// Its text as it stands there.
  std::string_view Skip();

  /// The first value of a wrong type, in Go's words; "" when there is none.
  const std::string& complaint() const { return complaint_; }

 private:
  void SkipBlanks();
  void SkipString();
  std::string TakeString();
  /// Whether the next value is of that kind. If it is not, it is skipped, with a complaint unless
  /// it is null.
  bool Expect(JsonKind kind, const JsonField& field);
  void Complain(std::string_view found, const JsonField& field);

  std::string_view text_;
  std::string type_;
  std::size_t at_ = 0;
  std::string complaint_;
};

/// Whether a key of a request names a member, as Go compares them: in any case.
bool KeyIs(std::string_view key, std::string_view name);

}  // namespace polybox::http
