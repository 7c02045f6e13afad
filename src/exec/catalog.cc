#include "exec/catalog.h"

#include <unistd.h>

namespace polybox::exec {

Catalog::Catalog(const languages::Registry& registry, const languages::FinderOptions& options,
                 const log::Logger& log)
    : registry_(registry), toolchains_(languages::FindToolchains(registry.all(), options, log)) {
  for (const languages::Language& language : registry.all()) {
    const Result<languages::Toolchain>& toolchain = toolchains_.at(language.id);
    if (!toolchain.ok()) continue;
    const std::string set = options.packages_dir + "/" + language.id;
    const bool has_set = language.packages && ::access(set.c_str(), R_OK | X_OK) == 0;
    available_.push_back({language, *toolchain, has_set ? set : ""});
  }
}

const Installation* Catalog::Find(std::string_view name) const {
  const languages::Language* language = registry_.Find(name);
  for (const Installation& installation : available_) {
    if (&installation.language == language) return &installation;
  }
  return nullptr;
}

const Error* Catalog::WhyNot(std::string_view name) const {
  const languages::Language* language = registry_.Find(name);
  if (language == nullptr) return nullptr;
  const Result<languages::Toolchain>& toolchain = toolchains_.at(language->id);
  return toolchain.ok() ? nullptr : &toolchain.error();
}

}  // namespace polybox::exec
