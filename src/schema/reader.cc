#include "schema/reader.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"
#include "base/printable.h"

namespace polybox::schema {

void Problems::Add(Rank rank, int line, std::string text) {
  problems_.push_back({rank, line, fmt::format("{}:{}: {}", file_, line, text)});
}

void Problems::Unknown(int line, const std::string& key, const std::string& suggestion) {
  Add(Rank::kUnknown, line,
      fmt::format("unknown key \"{}\"{}", PrintableForQuotes(key, 100), suggestion));
}

void Problems::Wrong(int line, const std::string& key, const std::string& shown,
                     const std::string& allowed) {
  Add(Rank::kWrong, line, fmt::format("{} = {}: {}", Printable(key, 100), shown, allowed));
}

void Problems::Conflict(int line, const std::string& text) {
  Add(Rank::kWrong, line, text);
}

void Problems::Missing(int line, const std::string& key) {
  Add(Rank::kMissing, line, fmt::format("missing key \"{}\"", key));
}

Status Problems::ToStatus() const {
  if (problems_.empty()) return {};
  std::vector<Problem> sorted = problems_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Problem& a, const Problem& b) {
    return std::pair(a.rank, a.line) < std::pair(b.rank, b.line);
  });
  std::vector<std::string> texts;
  texts.reserve(sorted.size());
  for (Problem& problem : sorted) texts.push_back(std::move(problem.text));
  return Error(ErrorKind::kInvalid, fmt::format("{}", fmt::join(texts, "\n")));
}

Reader::Reader(Reader&& other) noexcept
    : table_(std::exchange(other.table_, nullptr)),
      line_(other.line_),
      path_(std::move(other.path_)),
      problems_(other.problems_),
      keys_(other.keys_),
      known_(std::move(other.known_)) {}

Reader::~Reader() {
  if (table_ == nullptr) return;
  const std::vector<std::string_view> known(known_.begin(), known_.end());
  for (const Node& node : table_->entries) {
    if (std::find(known.begin(), known.end(), node.key) != known.end()) continue;
    problems_->Unknown(node.line, PathOf(node.key), DidYouMean(node.key, known));
  }
}

std::string Reader::PathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

int Reader::LineOf(std::string_view key) const {
  const Node* node = table_ == nullptr ? nullptr : table_->Find(key);
  return node == nullptr ? line_ : node->line;
}

const Node* Reader::Take(std::string_view key, Need need) {
  // The destructor reports the keys of the table that are not in `known_`.
  known_.emplace_back(key);
  // This reader only collects the names of keys.
  if (keys_ != nullptr) keys_->push_back(PathOf(key));
  if (table_ == nullptr) return nullptr;
  const Node* node = table_->Find(key);
  if (node == nullptr && need == Need::kRequired) problems_->Missing(line_, PathOf(key));
  return node;
}

void Reader::Wrong(const Node& node, std::string_view key, const std::string& allowed) {
  problems_->Wrong(node.line, PathOf(key), node.Show(), allowed);
}

void Reader::Conflict(std::string_view key, const std::string& text) {
  if (table_ == nullptr) return;
  problems_->Conflict(LineOf(key), fmt::format("{}: {}", PathOf(key), text));
}

namespace {

/// Returns what is allowed, for a value of the wrong type: the answer of `check` to an empty value,
/// if there is one.
template <typename T>
std::string Allowed(const Check<T>& check, const std::string& expected) {
  constexpr std::string_view kLead = "expected ";
  const auto allowed = check == nullptr ? std::nullopt : check(T());
  if (!allowed) return expected;
  if (allowed->starts_with(expected) || !allowed->starts_with(kLead)) return *allowed;
  return fmt::format("{}: {}", expected, allowed->substr(kLead.size()));
}

}  // namespace

template <typename T>
void Reader::ReadChecked(std::string_view key, T& out, Need need, const Check<T>& check,
                         const char* expected) {
  const Node* node = Take(key, need);
  if (node == nullptr) return;
  const T* value = std::get_if<T>(&node->value);
  if (value == nullptr) return Wrong(*node, key, Allowed(check, expected));
  if (check != nullptr) {
    if (const auto allowed = check(*value)) return Wrong(*node, key, *allowed);
  }
  out = *value;
}

void Reader::Read(std::string_view key, std::string& out, Need need,
                  const Check<std::string>& check) {
  ReadChecked(key, out, need, check, "expected a string");
}

void Reader::Read(std::string_view key, std::int64_t& out, Need need,
                  const Check<std::int64_t>& check) {
  ReadChecked(key, out, need, check, "expected a whole number");
}

void Reader::Read(std::string_view key, bool& out, Need need) {
  ReadChecked<bool>(key, out, need, nullptr, "expected true or false");
}

template <typename T>
void Reader::ReadUnit(std::string_view key, T& out, const UnitForm<T>& form) {
  const Node* node = Take(key, form.need);
  if (node == nullptr) return;
  // Parsing an empty text returns the sentence that says what is expected.
  std::string text;
  if (const auto* given = std::get_if<std::string>(&node->value)) text = *given;
  if (form.bare == Bare::kCounts) {
    if (const auto* whole = std::get_if<std::int64_t>(&node->value)) text = std::to_string(*whole);
    if (const auto* number = std::get_if<double>(&node->value)) text = fmt::format("{}", *number);
  }
  Result<T> parsed = form.parse(text);
  if (!parsed.ok()) return Wrong(*node, key, parsed.error().message());
  out = *parsed;
}

void Reader::Read(std::string_view key, Bytes& out, Need need, Bare bare) {
  ReadUnit<Bytes>(key, out, {need, bare, bare == Bare::kCounts ? ParseTypedBytes : ParseBytes});
}

void Reader::Read(std::string_view key, Duration& out, Need need, Bare bare) {
  ReadUnit<Duration>(key, out,
                     {need, bare, bare == Bare::kCounts ? ParseTypedDuration : ParseDuration});
}

void Reader::Read(std::string_view key, std::vector<std::string>& out, Need need,
                  const Check<std::string>& check_each) {
  ReadStrings(Take(key, need), key, out, check_each);
}

void Reader::ReadSome(std::string_view key, std::vector<std::string>& out, Need need,
                      const Check<std::string>& check_each) {
  const Node* node = Take(key, need);
  const List* list = node == nullptr ? nullptr : std::get_if<List>(&node->value);
  if (list != nullptr && list->empty()) {
    return problems_->Wrong(node->line, PathOf(key), "[]", "expected at least one string");
  }
  ReadStrings(node, key, out, check_each);
}

void Reader::ReadStrings(const Node* node, std::string_view key, std::vector<std::string>& out,
                         const Check<std::string>& check_each) {
  if (node == nullptr) return;
  const List* list = std::get_if<List>(&node->value);
  if (list == nullptr) return Wrong(*node, key, "expected a list of strings");
  std::vector<std::string> texts;
  for (const Node& item : *list) {
    const std::string* text = std::get_if<std::string>(&item.value);
    if (text == nullptr) return Wrong(item, key, "expected a list of strings");
    if (check_each != nullptr) {
      if (const auto allowed = check_each(*text)) return Wrong(item, key, *allowed);
    }
    texts.push_back(*text);
  }
  out = std::move(texts);
}

void Reader::Read(std::string_view key, std::vector<int>& out, Need need) {
  const Node* node = Take(key, need);
  if (node == nullptr) return;
  const List* list = std::get_if<List>(&node->value);
  if (list == nullptr) return Wrong(*node, key, "expected a list of exit codes");
  std::vector<int> codes;
  for (const Node& item : *list) {
    const std::int64_t* number = std::get_if<std::int64_t>(&item.value);
    if (number == nullptr || *number < 0 || *number > 255) {
      return Wrong(item, key, "expected exit codes from 0 to 255");
    }
    codes.push_back(static_cast<int>(*number));
  }
  out = std::move(codes);
}

void Reader::Read(std::string_view key, std::map<std::string, std::string>& out,
                  const Check<std::string>& check_each) {
  const Node* node = Take(key, Need::kOptional);
  if (node == nullptr) return;
  const Table* table = std::get_if<Table>(&node->value);
  if (table == nullptr) return Wrong(*node, key, "expected a table of strings");
  for (const Node& value : table->entries) {
    const std::string* text = std::get_if<std::string>(&value.value);
    const std::string full = fmt::format("{}.{}", key, value.key);
    if (text == nullptr) {
      Wrong(value, full, "expected a string");
      continue;
    }
    if (check_each != nullptr) {
      if (const auto allowed = check_each(*text)) {
        Wrong(value, full, *allowed);
        continue;
      }
    }
    out[value.key] = *text;
  }
}

Reader Reader::Sub(std::string_view key, Need need) {
  const Node* node = Take(key, need);
  const Table* table = nullptr;
  if (node != nullptr) {
    table = std::get_if<Table>(&node->value);
    if (table == nullptr) Wrong(*node, key, fmt::format("expected a table [{}]", PathOf(key)));
  }
  return {table, node == nullptr ? line_ : node->line, PathOf(key), problems_, keys_};
}

std::vector<Reader> Reader::SubList(std::string_view key) {
  std::vector<Reader> readers;
  const Node* node = Take(key, Need::kOptional);
  // One reader without a table, so that the caller's calls name the keys of a row.
  if (keys_ != nullptr) readers.push_back({nullptr, 0, PathOf(key), nullptr, keys_});
  if (node == nullptr) return readers;
  const List* list = std::get_if<List>(&node->value);
  const std::string expected = fmt::format("expected tables [[{}]]", PathOf(key));
  if (list == nullptr) {
    Wrong(*node, key, expected);
    return readers;
  }
  for (const Node& item : *list) {
    const Table* table = std::get_if<Table>(&item.value);
    if (table == nullptr) {
      Wrong(item, key, expected);
    } else {
      readers.push_back({table, item.line, PathOf(key), problems_, keys_});
    }
  }
  return readers;
}

Check<std::string> OneOf(std::vector<std::string_view> words) {
  return [words = std::move(words)](const std::string& value) -> std::optional<std::string> {
    if (std::find(words.begin(), words.end(), value) != words.end()) return std::nullopt;
    return fmt::format("expected one of {}{}", fmt::join(words, ", "), DidYouMean(value, words));
  };
}

}  // namespace polybox::schema
