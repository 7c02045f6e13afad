// Decides what happens to the requirements of a program: whether its language installs them here.
// Used by attempt.cc. Has no side effects; any thread.
#pragma once

#include <set>
#include <string>

#include "exec/catalog.h"
#include "languages/language.h"

namespace polybox::exec {

enum class RequirementRule {
  kInstall,  ///< The packages are installed for the program.
  kIgnore,   ///< The program runs without them, and the report names them.
  kRefuse,   ///< The request is refused.
};

/// `enabled` are the languages for which an operator enabled requirements (requirements-for).
RequirementRule RuleFor(const languages::Language& language, const std::set<std::string>& enabled);

/// Returns the message for a language with the rule kRefuse: it names the languages of the catalog
/// that install packages.
std::string WhyNoPackages(const languages::Language& language, const Catalog& catalog,
                          const std::set<std::string>& enabled);

}  // namespace polybox::exec
