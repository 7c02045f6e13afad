#include "engine_settings.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

namespace polybox::cmd {

using config::Settings;

std::int64_t PlacesOf(const Settings& settings) {
  if (settings.max_concurrent > 0) return settings.max_concurrent;
  return std::max<std::int64_t>(3,
                                2 * static_cast<std::int64_t>(std::thread::hardware_concurrency()));
}

Result<std::set<std::string>> RequirementsFor(const Settings& settings,
                                              const languages::Registry& registry) {
  std::set<std::string> ids;
  for (const std::string& name : settings.requirements_for) {
    const languages::Language* language = registry.Find(name);
    if (language == nullptr || !language->packages || !language->packages->requests ||
        !language->packages->requests->opt_in) {
      return Error(ErrorKind::kInvalid,
                   fmt::format("requirements-for: \"{}\" names no language whose requirements are "
                               "ignored by default",
                               name))
          .WithFix("write it like go");
    }
    ids.insert(language->id);
  }
  return ids;
}

}  // namespace polybox::cmd
