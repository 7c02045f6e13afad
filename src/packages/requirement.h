// Checks the requirements of a request: names of packages with versions. They become arguments of
// an installer. Therefore everything that is not clearly a package name with versions is refused:
// options, paths, addresses. Has no side effects; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace polybox::packages {

struct Requirement {
  /// The name in the form in which the installer compares names.
  std::string name;
  /// The whole requirement, in one of its possible spellings.
  std::string text;

  auto operator<=>(const Requirement&) const = default;
};

/// Parses requirements in the notation `form`. Returns them sorted and without duplicates. An error
/// is of kind kInvalid and names the requirement that is wrong.
Result<std::vector<Requirement>> ParseRequirements(std::string_view form,
                                                   const std::vector<std::string>& texts);

}  // namespace polybox::packages
