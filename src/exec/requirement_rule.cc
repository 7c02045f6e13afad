#include "exec/requirement_rule.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace polybox::exec {
namespace {

bool NeedsOptIn(const languages::Language& language) {
  return language.packages && language.packages->requests && language.packages->requests->opt_in;
}

}  // namespace

RequirementRule RuleFor(const languages::Language& language, const std::set<std::string>& enabled) {
  const bool has_form = language.packages && !language.packages->requirement_form.empty();
  const bool opted_in = !NeedsOptIn(language) || enabled.contains(language.id);
  if (has_form && opted_in) return RequirementRule::kInstall;
  // The contract of the execute dialect demands that languages with a mode ignore requirements.
  const bool ignores = language.mode || NeedsOptIn(language);
  return ignores ? RequirementRule::kIgnore : RequirementRule::kRefuse;
}

std::string WhyNoPackages(const languages::Language& language, const Catalog& catalog,
                          const std::set<std::string>& enabled) {
  std::vector<std::string> ready;
  std::vector<std::string> by_setting;
  for (const launch::Installation& each : catalog.available()) {
    const bool installs = RuleFor(each.language, enabled) == RequirementRule::kInstall;
    if (installs) ready.push_back(each.language.id);
    if (!installs && NeedsOptIn(each.language)) by_setting.push_back(each.language.id);
  }
  return fmt::format(
      "requirements: {} installs no packages on request (those that do here: {}{})", language.name,
      ready.empty() ? "none" : fmt::format("{}", fmt::join(ready, ", ")),
      by_setting.empty() ? ""
                         : fmt::format("; {} if the setting requirements-for names it",
                                       fmt::join(by_setting, ", ")));
}

}  // namespace polybox::exec
