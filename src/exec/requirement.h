// The requirements of a request: which packages, in which versions. They become arguments of an
// installer, so what is not plainly a package name with versions is refused: no options, no paths,
// no addresses. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace polybox::exec {

struct Requirement {
  /// As the installer compares it.
  std::string name;
  /// The whole, in one of all its spellings.
  std::string text;

  auto operator<=>(const Requirement&) const = default;
};

/// The ways to write one that language files may name (requirement_form).
std::vector<std::string_view> RequirementForms();

/// Sorted and without repeats. An error is of kind kInvalid and names what is wrong with which.
Result<std::vector<Requirement>> ParseRequirements(std::string_view form,
                                                   const std::vector<std::string>& texts);

}  // namespace polybox::exec
