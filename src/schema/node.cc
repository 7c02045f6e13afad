#include "schema/node.h"

#include <algorithm>

#include <fmt/format.h>

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "base/printable.h"

namespace polybox::schema {
namespace {

constexpr std::size_t kLongestShown = 80;

Node Convert(const toml::node& node, int line);

/// Converts the library's values into Nodes, table by table.
Table ConvertTable(const toml::table& source) {
  Table table;
  for (const auto& [key, value] : source) {
    const int line = static_cast<int>(key.source().begin.line);
    table.entries.push_back(Convert(value, line));
    table.entries.back().key = key.str();
  }
  // The library sorts the entries by key; the readers need the order of the document.
  std::ranges::stable_sort(table.entries, {}, &Node::line);
  return table;
}

List ConvertList(const toml::array& source) {
  List list;
  for (const toml::node& value : source) {
    list.push_back(Convert(value, static_cast<int>(value.source().begin.line)));
  }
  return list;
}

Node Convert(const toml::node& node, int line) {
  // TOML has no other types than these and dates and times.
  Node result;
  result.line = line;
  if (const auto* boolean = node.as_boolean()) {
    result.value = boolean->get();
  } else if (const auto* integer = node.as_integer()) {
    result.value = integer->get();
  } else if (const auto* number = node.as_floating_point()) {
    result.value = number->get();
  } else if (const auto* text = node.as_string()) {
    result.value = text->get();
  } else if (const auto* list = node.as_array()) {
    result.value = ConvertList(*list);
  } else if (const auto* table = node.as_table()) {
    result.value = ConvertTable(*table);
  } else {
    result.value = Unsupported{"a date or time"};
  }
  return result;
}

struct Shown {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const {
    return '"' + PrintableForQuotes(value, kLongestShown) + '"';
  }
  std::string operator()(const List&) const { return "a list"; }
  std::string operator()(const Table&) const { return "a table"; }
  std::string operator()(const Unsupported& value) const { return value.type; }
};

}  // namespace

const Node* Table::Find(std::string_view key) const {
  for (const Node& node : entries) {
    if (node.key == key) return &node;
  }
  return nullptr;
}

std::string Node::Show() const {
  return std::visit(Shown(), value);
}

Result<Table> ParseToml(std::string_view text, const std::string& origin) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return Error(ErrorKind::kInvalid, fmt::format("{}:{}: {}", origin, error.source().begin.line,
                                                  Printable(error.description(), 300)));
  }
  return ConvertTable(parsed.table());
}

}  // namespace polybox::schema
