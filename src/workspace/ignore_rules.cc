#include "workspace/ignore_rules.h"

#include <algorithm>

namespace polybox::workspace {
namespace {

/// More rules than any project has. Each entry of the tree is compared with all of them.
constexpr std::size_t kMostRules = 4096;

/// Removes spaces at the end that no backslash keeps, and the carriage return of a DOS line end.
std::string_view WithoutTrailingSpace(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  while (line.ends_with(' ') && !line.ends_with("\\ ")) line.remove_suffix(1);
  return line;
}

}  // namespace

IgnoreRules IgnoreRules::Parse(std::string_view text) {
  IgnoreRules parsed;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty() && parsed.rules_.size() < kMostRules) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (std::optional<Rule> rule = ParseLine(text.substr(0, end))) {
      parsed.rules_.push_back(std::move(*rule));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parsed;
}

std::optional<IgnoreRules::Rule> IgnoreRules::ParseLine(std::string_view line) {
  line = WithoutTrailingSpace(line);
  if (line.empty() || line.starts_with('#')) return std::nullopt;
  Rule rule;
  if (line.starts_with('!')) {
    rule.verdict = Verdict::kKept;
    line.remove_prefix(1);
  }
  if (line.ends_with('/')) {
    rule.only_directories = true;
    line.remove_suffix(1);
  }
  rule.name_only = line.find('/') == std::string_view::npos;
  Result<Glob> glob = Glob::Compile(line, Braces::kLiteral);
  if (!glob.ok() || line.empty()) return std::nullopt;
  rule.glob = std::move(glob).value();
  return rule;
}

std::optional<Verdict> IgnoreRules::Judge(std::string_view path, EntryKind kind) const {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (rule->only_directories && kind != EntryKind::kDirectory) continue;
    if (rule->glob.Matches(rule->name_only ? name : path)) return rule->verdict;
  }
  return std::nullopt;
}

}  // namespace polybox::workspace
