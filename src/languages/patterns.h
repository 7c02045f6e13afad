// Regular expressions with named groups, by which the parser `regex` reads the output of a tool:
// the table [verify.STEP.patterns] of a language file. The syntax is that of RE2. An expression
// matches a whole line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/reader.h"

namespace polybox::languages {

/// Each list may be empty. A line counts for the first expression that matches it, in the order of
/// the members.
struct Patterns {
  /// A finding. Groups: file, line, column, end_line, end_column, severity, rule, message, fix.
  std::vector<std::string> finding = {};
  /// Tests. Groups: suite, name (required), file, line, message.
  std::vector<std::string> failed = {};
  std::vector<std::string> passed = {};
  std::vector<std::string> skipped = {};
  /// The line that ends a complete output, such as a summary. Required for tests: without the line,
  /// the output was cut. Groups: passed, failed, skipped, findings; their numbers must agree with
  /// what was counted.
  std::vector<std::string> complete = {};
  /// Lines without meaning.
  std::vector<std::string> ignore = {};
  /// Whether lines that match nothing are allowed. Otherwise one of them makes the output
  /// unreadable.
  bool unknown_lines = false;
  /// Words of the group `severity`. Any other word means an error.
  std::vector<std::string> warnings = {"warning", "warn", "W"};
  std::vector<std::string> notes = {"note", "info", "hint", "I"};
};

/// Reads the table `patterns` below a step of [verify]. The table must be there if `parser` is
/// "regex", and only then.
void ReadPatterns(schema::Reader& parent, std::string_view parser, std::optional<Patterns>& out);

}  // namespace polybox::languages
