// What `polybox run` says of a program's steps: JSON for programs, a line for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "jail/grade.h"
#include "jail/outcome.h"

namespace polybox::cmd {

struct StepReport {
  jail::Outcome outcome;
  std::string out;
  std::string err;
  /// A compile step: whether the cache had its result; absent when it was not asked.
  std::optional<bool> cached;
};

struct RunReport {
  std::string_view language;
  jail::Grade grade = jail::Grade::kNone;
  const std::optional<StepReport>& compile;
  const std::optional<StepReport>& run;
};

/// On one line, numbers without exponents.
std::string ReportJson(const RunReport& report);

}  // namespace polybox::cmd
