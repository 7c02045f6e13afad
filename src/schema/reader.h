// Reads a TOML table into typed values and reports every mistake in it. A report contains the file,
// the line, the key, the value, what is allowed, and the nearest known key for a typing error. The
// calls on a Reader tell it the known keys, so a key is declared in one place: where it is read.
//
//   Problems problems("python.toml");
//   {
//     Reader reader(table, problems);
//     reader.Read("id", language.id, Need::kRequired);
//     Reader limits = reader.Sub("limits");
//     ...
//   }  // the destructor reports the keys that no call has read
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

/// Whether a missing key is a problem.
enum class Need { kOptional, kRequired };

/// Collects the problems of one file. Unknown keys come first, because a typing error explains the
/// missing key that it causes. Then come wrong values, then missing keys. Each group is in the
/// order of the lines. One thread.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  /// A key that nobody reads; `suggestion` is added to the sentence.
  void Unknown(int line, const std::string& key, const std::string& suggestion);
  /// A value that is not allowed: `shown` is the value, `allowed` says what is expected.
  void Wrong(int line, const std::string& key, const std::string& shown,
             const std::string& allowed);
  /// A value that is allowed in itself, but contradicts another; `text` is the whole sentence.
  void Conflict(int line, const std::string& text);
  /// A required key that the file does not have.
  void Missing(int line, const std::string& key);

  bool empty() const { return problems_.empty(); }
  /// Returns an error with one line per problem, or success.
  Status ToStatus() const;

 private:
  enum class Rank { kUnknown, kWrong, kMissing };
  /// A sentence with its place in the order of the report.
  struct Problem {
    Rank rank;
    int line;
    std::string text;
  };
  void Add(Rank rank, int line, std::string text);

  std::string file_;
  std::vector<Problem> problems_;
};

/// Returns `expected ...` if the value is not allowed; nothing if it is.
template <typename T>
using Check = std::function<std::optional<std::string>(const T&)>;

/// Whether a size or a time may be a number without a unit. The number then counts bytes or
/// seconds.
enum class Bare { kRefused, kCounts };

/// Reads one table. The table and the problems must outlive it. The destructor reports the keys
/// that no call has read. One thread.
class Reader {
 public:
  Reader(const Table& table, Problems& problems) : Reader(&table, 1, "", &problems, nullptr) {}
  /// Makes a reader that reads nothing. It records the path of every key that would be read
  /// ("run.limits.memory") in `keys`.
  explicit Reader(std::vector<std::string>& keys) : Reader(nullptr, 0, "", nullptr, &keys) {}
  /// The moved-from reader reports no unknown keys.
  Reader(Reader&& other) noexcept;
  Reader& operator=(Reader&&) = delete;
  Reader(const Reader&) = delete;
  ~Reader();

  /// Returns whether the file has the table (see Sub).
  bool present() const { return table_ != nullptr; }
  int line() const { return line_; }
  /// Returns the line of `key`, or that of the table when it does not have the key.
  int LineOf(std::string_view key) const;
  bool Has(std::string_view key) const { return table_ != nullptr && table_->Find(key) != nullptr; }

  /// Each Read() sets `out` to the value of the key. If the key is missing or its value is not
  /// allowed, `out` stays as it is. A value that is not allowed adds a problem. A missing key adds
  /// one only if it is required.
  void Read(std::string_view key, std::string& out, Need need = Need::kOptional,
            const Check<std::string>& check = nullptr);
  void Read(std::string_view key, std::int64_t& out, Need need = Need::kOptional,
            const Check<std::int64_t>& check = nullptr);
  void Read(std::string_view key, bool& out, Need need = Need::kOptional);
  void Read(std::string_view key, Bytes& out, Need need = Need::kOptional,
            Bare bare = Bare::kRefused);
  void Read(std::string_view key, Duration& out, Need need = Need::kOptional,
            Bare bare = Bare::kRefused);
  void Read(std::string_view key, std::vector<std::string>& out, Need need = Need::kOptional,
            const Check<std::string>& check_each = nullptr);
  /// The same as Read(), but an empty list is a problem.
  void ReadSome(std::string_view key, std::vector<std::string>& out, Need need = Need::kOptional,
                const Check<std::string>& check_each = nullptr);
  void Read(std::string_view key, std::vector<int>& out, Need need = Need::kOptional);
  /// Reads a table of strings whose keys are free. An entry that is not allowed is left out.
  void Read(std::string_view key, std::map<std::string, std::string>& out,
            const Check<std::string>& check_each = nullptr);

  /// Returns the reader of a table inside this one. If the table is missing, the reader is not
  /// present() and reads nothing.
  Reader Sub(std::string_view key, Need need = Need::kOptional);
  /// Returns the readers of the tables in a list.
  std::vector<Reader> SubList(std::string_view key);

  /// Adds the problem `text` about `key`, for checks that compare several keys.
  void Conflict(std::string_view key, const std::string& text);

 private:
  Reader(const Table* table, int line, std::string path, Problems* problems,
         std::vector<std::string>* keys)
      : table_(table), line_(line), path_(std::move(path)), problems_(problems), keys_(keys) {}

  /// Marks the key as known and returns its value; null when it is missing.
  const Node* Take(std::string_view key, Need need);
  /// Adds the problem that a value is not allowed.
  void Wrong(const Node& node, std::string_view key, const std::string& allowed);
  template <typename T>
  void ReadChecked(std::string_view key, T& out, Need need, const Check<T>& check,
                   const char* expected);
  void ReadStrings(const Node* node, std::string_view key, std::vector<std::string>& out,
                   const Check<std::string>& check_each);
  template <typename T>
  /// How a size or a time is read.
  struct UnitForm {
    Need need;
    Bare bare;
    Result<T> (*parse)(std::string_view);
  };
  template <typename T>
  void ReadUnit(std::string_view key, T& out, const UnitForm<T>& form);
  std::string PathOf(std::string_view key) const;

  /// Null if the file has no such table, or if only keys are recorded.
  const Table* table_;
  int line_;
  std::string path_;
  Problems* problems_;
  /// Where keys are recorded; null when a table is read.
  std::vector<std::string>* keys_;
  /// The keys that calls have asked for.
  std::vector<std::string> known_;
};

/// Returns a check that allows only these words.
Check<std::string> OneOf(std::vector<std::string_view> words);

}  // namespace polybox::schema
