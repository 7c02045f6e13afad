// Replaces the placeholders for tests that are named one by one ({pattern}, {top_pattern}, {names},
// {suites}, {ids}) in the command of a test runner. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "languages/language.h"
#include "verify/report.h"

namespace polybox::verify {

/// Returns an expression that matches exactly the names: ^(a|b)$.
std::string PatternOf(const std::vector<std::string>& names);

/// Returns the words of `command`. A word that is one of {names}, {suites} and {ids} becomes one
/// word for each different value. `ids` are the ids of `tests`, in the same order.
languages::Argv ExpandSelection(const languages::Argv& command, const std::vector<TestName>& tests,
                                const std::vector<std::string>& ids);

}  // namespace polybox::verify
