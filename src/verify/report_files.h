// Results in the file formats that other programs read. Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "verify/check_result.h"

namespace polybox::verify {

/// Returns test results as JUnit XML. A run without a verdict about the tests is an errored test
/// case of its own, so that no reader takes the file for green.
std::string JunitOf(const std::vector<CheckResult>& results);

/// Returns findings as SARIF 2.1.0, one run for each language. A run without a verdict about the
/// code has executionSuccessful = false.
std::string SarifOf(const std::vector<CheckResult>& results);

}  // namespace polybox::verify
