#include "exec/installations.h"

#include <fmt/format.h>

#include "exec/warm.h"

namespace polybox::exec {

Installations::Installations(const Catalog& catalog, const EngineOptions& options,
                             jail::Grade grade)
    : options_(options), grade_(grade) {
  for (const launch::Installation& known : catalog.available()) {
    ready_.emplace(known.language.id, WithWarmStart(WithEgress(known)));
  }
}

const launch::Installation* Installations::Find(const std::string& language) const {
  const auto found = ready_.find(language);
  return found == ready_.end() ? nullptr : &found->second;
}

launch::Installation Installations::WithSet(const launch::Installation& known,
                                            const packages::PackageSet& set) const {
  launch::Installation installation = WithEgress(known);
  installation.packages = set.directory;
  installation.requested = true;
  const bool has_both = launch::RequestsOf(installation) != nullptr &&
                        jail::HasNamespaces(grade_) && installation.packages != known.packages;
  if (has_both) installation.preinstalled = known.packages;
  // The client chooses the packages; a zygote, which forks later guests, must not run their code.
  const bool inert = known.language.warm.kind != languages::WarmKind::kZygote;
  return inert ? WithWarmStart(std::move(installation)) : installation;
}

std::string Installations::KeyOf(const launch::Installation& installation) {
  return fmt::format("{}:{}:{}", installation.language.id, installation.packages,
                     installation.prepared);
}

launch::Installation Installations::WithEgress(launch::Installation known) const {
  known.egress = options_.guest_egress != nullptr;
  return known;
}

launch::Installation Installations::WithWarmStart(launch::Installation known) const {
  const bool possible = options_.warm && jail::HasNamespaces(grade_);
  if (possible) known.warm = WarmFor(known, options_.preloads, options_.usual_run);
  return known;
}

}  // namespace polybox::exec
