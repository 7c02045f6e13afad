// Knows the languages that run on this host, each with its toolchain and its package set. All of
// them are looked up once, at the start. Immutable after that; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "languages/registry.h"
#include "languages/toolchain.h"
#include "launch/launch.h"

namespace polybox::exec {

class Catalog {
 public:
  /// Looks up the toolchains of all languages. `registry` must outlive the catalog.
  Catalog(const languages::Registry& registry, const languages::FinderOptions& options,
          const log::Logger& log);
  /// Uses toolchains that were looked up already. A language without one does not run.
  /// `packages_dir` is the parent of the languages' package sets.
  Catalog(const languages::Registry& registry, languages::Toolchains toolchains,
          const std::string& packages_dir);

  const languages::Registry& registry() const { return registry_; }
  /// The result of the lookup for each language, whether found or not.
  const languages::Toolchains& toolchains() const { return toolchains_; }
  /// The languages that run on this host, in alphabetical order of their ids.
  const std::vector<launch::Installation>& available() const { return available_; }
  /// Finds a language by id or alias. Returns null when it does not run on this host, or is
  /// unknown.
  const launch::Installation* Find(std::string_view name) const;
  /// Returns why a known language does not run on this host; null if it runs, or is unknown.
  const Error* WhyNot(std::string_view name) const;

 private:
  const languages::Registry& registry_;
  languages::Toolchains toolchains_;
  std::vector<launch::Installation> available_;
};

}  // namespace polybox::exec
