#include "exec/catalog.h"

#include <unistd.h>

namespace polybox::exec {

Catalog::Catalog(const languages::Registry& registry, const languages::FinderOptions& options,
                 const log::Logger& log)
    : Catalog(registry, languages::FindToolchains(registry.all(), options, log),
              options.packages_dir) {}

Catalog::Catalog(const languages::Registry& registry, languages::Toolchains toolchains,
                 const std::string& packages_dir)
    : registry_(registry), toolchains_(std::move(toolchains)) {
  for (const languages::Language& language : registry.all()) {
    const auto found = toolchains_.find(language.id);
    if (found == toolchains_.end() || !found->second.ok()) continue;
    const std::string set = packages_dir + "/" + language.id;
    const bool has_set = language.packages && ::access(set.c_str(), R_OK | X_OK) == 0;
    available_.push_back({language, *found->second, has_set ? set : ""});
  }
}

const launch::Installation* Catalog::Find(std::string_view name) const {
  const languages::Language* language = registry_.Find(name);
  for (const launch::Installation& installation : available_) {
    if (&installation.language == language) return &installation;
  }
  return nullptr;
}

const Error* Catalog::WhyNot(std::string_view name) const {
  const languages::Language* language = registry_.Find(name);
  if (language == nullptr) return nullptr;
  const auto found = toolchains_.find(language->id);
  if (found == toolchains_.end()) return nullptr;
  return found->second.ok() ? nullptr : &found->second.error();
}

}  // namespace polybox::exec
