// Reads JUnit's XML, which runners of all languages write, each with its own habits. The parsers
// pytest-junit, node-test-junit and junit-xml turn the cases into a report. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace polybox::verify {

enum class JunitOutcome { kPassed, kFailed, kErrored, kSkipped };

/// A <testcase>.
struct JunitCase {
  /// The names of the suites around the case, the outermost first.
  std::vector<std::string> suites = {};
  /// The attribute `class`, or else `classname`.
  std::string class_name = {};
  std::string name = {};
  /// Of the case, or of the innermost suite with the attribute.
  std::string file = {};
  std::int64_t line = 0;
  /// CTest's word: run, fail, notrun, disabled.
  std::string status = {};
  JunitOutcome outcome = JunitOutcome::kPassed;
  /// The attributes of the first <failure> or <error>, or of <skipped>, and the text in it.
  std::string message = {};
  std::string type = {};
  std::string text = {};
  /// What the test wrote.
  std::string output = {};
};

/// Calls `visit` with each case. An error means that the text is not a whole report. A report that
/// counts failures but shows none is an error too.
Status ReadJunit(std::string_view text, std::string_view what,
                 const std::function<void(const JunitCase&)>& visit);

}  // namespace polybox::verify
