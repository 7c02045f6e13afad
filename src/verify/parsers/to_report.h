// Joins the two halves of a parser: one that returns a report or an error, and the contract that an
// error is the value Unreadable.
#pragma once

#include <string_view>
#include <utility>

#include "base/result.h"
#include "verify/not_this.h"
#include "verify/parser.h"

namespace polybox::verify {

/// Returns the report, or why there is none.
template <typename T>
Report ToReport(Result<T> result) {
  if (!result.ok()) return Unreadable{result.error().message()};
  return std::move(result).value();
}

/// Returns the text that a parser of a report format reads: the report file, or standard output if
/// the command writes no file.
inline std::string_view ReportText(const ParserInput& input) {
  return input.report.empty() ? input.out : input.report;
}

}  // namespace polybox::verify
