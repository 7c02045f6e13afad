// The languages that run on this host: each with its toolchain and its package set, looked up once
// at the start. Immutable; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "exec/launch.h"
#include "languages/registry.h"
#include "languages/toolchain.h"

namespace polybox::exec {

class Catalog {
 public:
  /// `registry` must outlive the catalog.
  Catalog(const languages::Registry& registry, const languages::FinderOptions& options,
          const log::Logger& log);

  const languages::Registry& registry() const { return registry_; }
  /// Of all languages, found or not.
  const languages::Toolchains& toolchains() const { return toolchains_; }
  /// Those that run here, in alphabetical order of their ids.
  const std::vector<Installation>& available() const { return available_; }
  /// By id or alias; null when it does not run here, or is not known at all.
  const Installation* Find(std::string_view name) const;
  /// Why a known language does not run here.
  const Error* WhyNot(std::string_view name) const;

 private:
  const languages::Registry& registry_;
  languages::Toolchains toolchains_;
  std::vector<Installation> available_;
};

}  // namespace polybox::exec
