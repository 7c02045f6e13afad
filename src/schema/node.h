// A parsed TOML document as plain data, with the line of every value. The TOML library stays in
// node.cc: it is heavy to compile.
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

/// A table's entries, each with its key, in the order of the document.
struct Table {
  std::vector<Node> entries;

  const Node* Find(std::string_view key) const;
};

/// Dates and times are not part of our files: they are kept as the text of their type's name only.
struct Unsupported {
  std::string type;
};

struct Node {
  /// Its name in the table it is in; "" inside a list.
  std::string key;
  /// Line of the key (or of the value inside a list), from 1.
  int line = 0;
  std::variant<bool, std::int64_t, double, std::string, List, Table, Unsupported> value;

  /// As a reader of the file would recognise it: `"text"`, `12`, `a list`, `a table`.
  std::string Show() const;
};

/// Reads `text`; a syntax error says `origin:line: what`.
Result<Table> ParseToml(std::string_view text, const std::string& origin);

}  // namespace polybox::schema
