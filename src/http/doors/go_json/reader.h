// Reads JSON into typed members like Go's encoding/json, because clients of both dialects rely on
// that behaviour. Keys match in any case, and unknown keys are skipped. The last of two equal keys
// wins. null leaves a member unchanged. Text that is not UTF-8 becomes U+FFFD. The reader remembers
// the first value of a wrong type and continues. It allocates only what the caller asks for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace polybox::http {

enum class JsonKind { kNull, kBool, kNumber, kString, kArray, kObject };

/// The name and type of a member, for complaints: `executeRequest.timeout_seconds`, `int`.
struct JsonField {
  std::string_view name;
  std::string_view type;
};

class JsonReader {
 public:
  /// `value` is a result of FirstJsonValue() and must outlive the reader. `type` is the name of the
  /// type that it is read into.
  JsonReader(std::string_view value, std::string type) : text_(value), type_(std::move(type)) {}

  /// Returns the kind of the next value without consuming it.
  JsonKind Peek() const;

  // Each of these functions consumes the next value. They return false when the value is null or
  // has another type; another type is also a complaint.

  /// Calls `member` for each key. `member` may read the value; a value that it does not read is
  /// skipped. A `field` without a name stands for the whole text.
  bool Object(const JsonField& field, const std::function<void(const std::string& key)>& member);
  bool Array(const JsonField& field, const std::function<void()>& item);
  bool String(const JsonField& field, std::string& value);
  bool Integer(const JsonField& field, std::int64_t& value);
  bool Bool(const JsonField& field, bool& value);
  /// Returns the text of the value unchanged.
  std::string_view Skip();

  /// Returns the complaint about the first value of a wrong type, in Go's words; "" when there is
  /// none.
  const std::string& complaint() const { return complaint_; }

 private:
  void SkipBlanks();
  void SkipString();
  /// Skips the value that begins at `begin` unless it was read, and the comma behind it.
  void EndValue(std::size_t begin);
  std::string TakeString();
  /// Returns whether the next value has this kind. Otherwise skips the value, and complains unless
  /// the value is null.
  bool Expect(JsonKind kind, const JsonField& field);
  void Complain(std::string_view found, const JsonField& field);

  std::string_view text_;
  std::string type_;
  std::size_t at_ = 0;
  std::string complaint_;
};

/// Returns whether a key of a request names a member; compares like Go, in any case.
bool KeyIs(std::string_view key, std::string_view name);

}  // namespace polybox::http
