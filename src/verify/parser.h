// Parsers turn the complete output of a verification tool into a report (verify/report.h). A parser
// is a pure function that a language file names. The table in parsers/table.cc lists all of them.
// Any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "languages/patterns.h"
#include "verify/report.h"

namespace polybox::verify {

/// What a parser's report is about. kFindings may also answer for a formatter that reports rules.
enum class ParserKind { kTests, kFindings, kFormat, kCoverage };

/// What a tool wrote: all of it, never cut. The texts must outlive the call of the parser.
struct ParserInput {
  std::string_view out = {};
  std::string_view err = {};
  /// The report file that the tool wrote. Without one in the command, it is empty, and parsers of
  /// report formats read `out`.
  std::string_view report = {};
  /// Nothing if the tool did not exit by itself.
  std::optional<int> exit_code = {};
  /// The absolute path of the project, without a slash at its end; "" leaves paths as they are.
  std::string_view root = {};
  /// The name by which the sources call the root: what follows `module` in a go.mod. Go's tools
  /// name files and packages by it. "" if there is none.
  std::string_view module = {};
  /// What the parser `regex` looks for; the other parsers do not use it.
  const languages::Patterns* patterns = nullptr;
};

/// How a parser tells that an output is complete.
enum class Ends {
  /// The format has an end: a document, a summary, or a plan. Every proper prefix is Unreadable or
  /// has failures.
  kMarked,
  /// A sequence of records that each have an end. A prefix that ends within a record is Unreadable;
  /// one that ends between two records is a shorter report.
  kRecords,
  /// A list of lines. A prefix that ends within a line is Unreadable; any other is a shorter list.
  /// An empty list is believed only together with exit code 0.
  kLines,
};

struct Parser {
  std::string_view name;
  ParserKind kind;
  Ends ends;
  /// Call ReadReport() instead, which also compares the report with the exit code.
  Report (*parse)(const ParserInput& input);
};

/// All parsers, sorted by name. The names are those of languages::ParserNames().
std::span<const Parser> AllParsers();
/// Returns null when there is no such parser.
const Parser* FindParser(std::string_view name);

/// Parses the output. A clean report of a tool that did not exit, or exited with another code than
/// 0, is a contradiction: the answer is then Unreadable. Callers handle exit codes that mean
/// "nothing to do" before.
Report ReadReport(const Parser& parser, const ParserInput& input);

}  // namespace polybox::verify
