// A parsed TOML document as plain data, with the line of every value. Only node.cc includes the
// TOML library, because its headers are slow to compile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace polybox::schema {

struct Node;
using List = std::vector<Node>;

/// The entries of a table, each with its key, in the order of the document.
struct Table {
  std::vector<Node> entries;

  /// Returns the entry of a key; null when there is none.
  const Node* Find(std::string_view key) const;
};

/// A date or a time. polybox has no use for them, so only the name of the type is kept.
struct Unsupported {
  std::string type;
};

/// A value of the document.
struct Node {
  /// The key in the table that contains it; "" inside a list.
  std::string key;
  /// The line of the key (or of the value inside a list), from 1.
  int line = 0;
  std::variant<bool, std::int64_t, double, std::string, List, Table, Unsupported> value;

  /// Returns the value as a person recognises it in the file: `"text"`, `12`, `a list`, `a table`.
  std::string Show() const;
};

/// Parses `text`. The error of a syntax error says `origin:line: what`.
Result<Table> ParseToml(std::string_view text, const std::string& origin);

}  // namespace polybox::schema
