#include "languages/patterns.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

namespace polybox::languages {
namespace {

using schema::Need;
using schema::Reader;
using Names = std::vector<std::string_view>;

/// Returns a check of an expression: that it compiles, and has no other groups than these. The
/// group `needed` must be there, unless it is "".
schema::Check<std::string> ExpressionWith(Names groups, std::string_view needed) {
  return
      [groups = std::move(groups), needed](const std::string& text) -> std::optional<std::string> {
        const RE2 pattern(text, RE2::Quiet);
        if (!pattern.ok()) return fmt::format("expected a regular expression: {}", pattern.error());
        const auto& names = pattern.NamedCapturingGroups();
        for (const auto& [name, number] : names) {
          if (std::ranges::count(groups, name) == 0) {
            return fmt::format("expected no group \"{}\"; groups are {}", name,
                               fmt::join(groups, ", "));
          }
        }
        if (!needed.empty() && !names.contains(std::string(needed))) {
          return fmt::format("expected a group (?P<{}>...)", needed);
        }
        return std::nullopt;
      };
}

/// Reports lists that cannot give a report together.
void CheckLists(Reader& reader, const Patterns& patterns) {
  const bool tests = !patterns.failed.empty() || !patterns.passed.empty();
  if (tests == !patterns.finding.empty()) {
    reader.Conflict("finding", "give `finding`, or `failed` and `passed`");
  }
  if (!tests) return;
  if (patterns.failed.empty() || patterns.passed.empty()) {
    reader.Conflict("failed", "tests need both `failed` and `passed`");
  }
  // Without it, an output that was cut would look like fewer tests.
  if (patterns.complete.empty()) reader.Conflict("complete", "tests need the line that ends them");
}

}  // namespace

void ReadPatterns(Reader& parent, std::string_view parser, std::optional<Patterns>& out) {
  const Names test = {"suite", "name", "file", "line", "message"};
  Reader reader = parent.Sub("patterns");
  Patterns patterns;
  reader.Read("finding", patterns.finding, Need::kOptional,
              ExpressionWith({"file", "line", "column", "end_line", "end_column", "severity",
                              "rule", "message", "fix"},
                             "message"));
  reader.Read("failed", patterns.failed, Need::kOptional, ExpressionWith(test, "name"));
  reader.Read("passed", patterns.passed, Need::kOptional, ExpressionWith(test, "name"));
  reader.Read("skipped", patterns.skipped, Need::kOptional, ExpressionWith(test, ""));
  reader.Read("complete", patterns.complete, Need::kOptional,
              ExpressionWith({"passed", "failed", "skipped", "findings"}, ""));
  reader.Read("ignore", patterns.ignore, Need::kOptional, ExpressionWith({}, ""));
  reader.Read("unknown_lines", patterns.unknown_lines);
  reader.Read("warnings", patterns.warnings);
  reader.Read("notes", patterns.notes);
  const bool wanted = parser == "regex";
  if (reader.present()) {
    CheckLists(reader, patterns);
    if (!wanted) parent.Conflict("patterns", "only the parser \"regex\" reads patterns");
    out = std::move(patterns);
  } else if (wanted) {
    parent.Conflict("parser", "\"regex\" needs the table `patterns`");
  }
}

}  // namespace polybox::languages
