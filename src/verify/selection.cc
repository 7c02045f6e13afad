#include "verify/selection.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "languages/placeholders.h"

namespace polybox::verify {
namespace {

/// Escapes what has a meaning in the regular expressions of all common engines, and nothing else:
/// some refuse a backslash before an ordinary character.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\.+*?()|[]{}^$").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

void AddOnce(std::vector<std::string>& list, const std::string& item) {
  if (!item.empty() && std::ranges::find(list, item) == list.end()) list.push_back(item);
}

}  // namespace

std::string PatternOf(const std::vector<std::string>& names) {
  std::vector<std::string> escaped;
  for (const std::string& name : names) escaped.push_back(Escaped(name));
  return fmt::format("^({})$", fmt::join(escaped, "|"));
}

languages::Argv ExpandSelection(const languages::Argv& command, const std::vector<TestName>& tests,
                                const std::vector<std::string>& ids) {
  std::vector<std::string> names;
  std::vector<std::string> tops;
  std::vector<std::string> suites;
  std::vector<std::string> different_ids;
  for (const TestName& test : tests) {
    AddOnce(names, test.name);
    AddOnce(tops, test.name.substr(0, test.name.find('/')));
    AddOnce(suites, test.suite);
  }
  for (const std::string& id : ids) AddOnce(different_ids, id);
  const languages::Placeholders values = {{"pattern", PatternOf(names)},
                                          {"top_pattern", PatternOf(tops)}};
  languages::Argv words;
  for (const std::string& word : command) {
    const std::vector<std::string>* list = word == "{names}"    ? &names
                                           : word == "{suites}" ? &suites
                                           : word == "{ids}"    ? &different_ids
                                                                : nullptr;
    if (list == nullptr) {
      words.push_back(languages::Expand(word, values));
    } else {
      words.insert(words.end(), list->begin(), list->end());
    }
  }
  return words;
}

}  // namespace polybox::verify
