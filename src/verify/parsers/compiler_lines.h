// Lines in the form of compilers: "file:line:column: severity: message [rule]". Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "verify/collect.h"

namespace polybox::verify {

/// The parts of such a line; views into it.
struct CompilerLine {
  std::string_view file = {};
  std::int64_t line = 0;
  /// 0 if the line has none.
  std::int64_t column = 0;
  /// The word before the message; "" if there is none of the known words.
  std::string_view severity = {};
  std::string_view message = {};
  /// What stands in brackets at the end: "-Wunused", "bugprone-x"; "" if nothing does.
  std::string_view rule = {};
};

/// Returns the parts. The column, the severity and the rule are optional in the form.
std::optional<CompilerLine> ReadCompilerLine(std::string_view line);

/// Returns the parts of Maven's form: "[ERROR] /path/A.java:[3,5] message".
std::optional<CompilerLine> ReadMavenLine(std::string_view line);

/// Adds the errors that rustc wrote in its usual form: "error[E0308]: message", and the place on
/// the next line, " --> src/main.rs:2:18".
void AddRustcErrors(std::string_view err, TestCollector& tests);

/// Adds the errors in the output of a build. Lines that are no errors are skipped.
void AddBuildErrors(std::string_view output, TestCollector& tests);

}  // namespace polybox::verify
