// Reads a TOML table into typed values and says precisely what is wrong with it: file, line, key,
// the value, what is allowed, and the nearest known key for a typo. A Reader learns the known keys
// from the calls made on it, so a key is declared in exactly one place: where it is read.
//
//   Problems problems("python.toml");
//   {
//     Reader reader(table, problems);
//     reader.Read("id", language.id, Need::kRequired);
//     Reader limits = reader.Sub("limits");
//     ...
//   }  // leaving the scope reports the keys that nobody asked for
//   POLYBOX_RETURN_IF_ERROR(problems.ToStatus());
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "schema/node.h"

namespace polybox::schema {

enum class Need { kOptional, kRequired };

/// What is wrong with one file. Unknown keys come first (a typo explains the missing key it
/// causes), then wrong values, then missing keys; each group in the order of the lines.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  void Unknown(int line, const std::string& key, const std::string& suggestion);
  void Wrong(int line, const std::string& key, const std::string& shown,
             const std::string& allowed);
  /// A value that is well-formed but does not fit; `text` is the whole sentence.
  void Conflict(int line, const std::string& text);
  void Missing(int line, const std::string& key);

  bool empty() const { return problems_.empty(); }
  /// One line per problem, or success.
  Status ToStatus() const;

 private:
  enum class Rank { kUnknown, kWrong, kMissing };
  struct Problem {
    Rank rank;
    int line;
    std::string text;
  };
  void Add(Rank rank, int line, std::string text);

  std::string file_;
  std::vector<Problem> problems_;
};

/// Says what is allowed when a value is not: `expected ...`; nothing when it is fine.
template <typename T>
using Check = std::function<std::optional<std::string>(const T&)>;

class Reader {
 public:
  Reader(const Table& table, Problems& problems) : Reader(&table, 1, "", &problems, nullptr) {}
  /// Instead of reading, records the path of every key that would be read ("run.limits.memory").
  explicit Reader(std::vector<std::string>& keys) : Reader(nullptr, 0, "", nullptr, &keys) {}
  Reader(Reader&& other) noexcept;
  Reader& operator=(Reader&&) = delete;
  Reader(const Reader&) = delete;
  ~Reader();

  /// Whether the table is there at all (see Sub).
  bool present() const { return table_ != nullptr; }
  int line() const { return line_; }
  /// The line of `key`, or of the table when it does not have the key.
  int LineOf(std::string_view key) const;
  bool Has(std::string_view key) const { return table_ != nullptr && table_->Find(key) != nullptr; }

  void Read(std::string_view key, std::string& out, Need need = Need::kOptional,
            const Check<std::string>& check = nullptr);
  void Read(std::string_view key, std::int64_t& out, Need need = Need::kOptional,
            const Check<std::int64_t>& check = nullptr);
  void Read(std::string_view key, bool& out, Need need = Need::kOptional);
  void Read(std::string_view key, Bytes& out, Need need = Need::kOptional);
  void Read(std::string_view key, Duration& out, Need need = Need::kOptional);
  void Read(std::string_view key, std::vector<std::string>& out, Need need = Need::kOptional,
            const Check<std::string>& check_each = nullptr);
  /// The same, with at least one string in it.
  void ReadSome(std::string_view key, std::vector<std::string>& out, Need need = Need::kOptional,
                const Check<std::string>& check_each = nullptr);
  void Read(std::string_view key, std::vector<int>& out, Need need = Need::kOptional);
  /// A table of strings with free keys.
  void Read(std::string_view key, std::map<std::string, std::string>& out,
            const Check<std::string>& check_each = nullptr);

  /// The reader of a table inside; when it is missing, one that is not present() and reads nothing.
  Reader Sub(std::string_view key, Need need = Need::kOptional);
  /// The readers of a list of tables.
  std::vector<Reader> SubList(std::string_view key);

  /// Reports `text` about `key`, for checks across keys.
  void Conflict(std::string_view key, const std::string& text);

 private:
  Reader(const Table* table, int line, std::string path, Problems* problems,
         std::vector<std::string>* keys)
      : table_(table), line_(line), path_(std::move(path)), problems_(problems), keys_(keys) {}

  const Node* Take(std::string_view key, Need need);
  void Wrong(const Node& node, std::string_view key, const std::string& allowed);
  template <typename T>
  void ReadChecked(std::string_view key, T& out, Need need, const Check<T>& check,
                   const char* expected);
  void ReadStrings(const Node* node, std::string_view key, std::vector<std::string>& out,
                   const Check<std::string>& check_each);
  template <typename T>
  void ReadUnit(std::string_view key, T& out, Need need, Result<T> (*parse)(std::string_view));
  std::string PathOf(std::string_view key) const;

  const Table* table_;
  int line_;
  std::string path_;
  Problems* problems_;
  std::vector<std::string>* keys_;
  std::vector<std::string> known_;
};

/// A check that only lets the given words through.
Check<std::string> OneOf(std::vector<std::string_view> words);

}  // namespace polybox::schema
