// polybox preinstall: puts the packages that language files call preinstalled where every run sees
// them.
#include "languages/preinstall.h"

#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"
#include "command.h"
#include "installed.h"

namespace polybox::cmd {
namespace {

using languages::Language;
using languages::PreinstallOutcome;
using languages::Registry;

std::string Describe(PreinstallOutcome outcome) {
  switch (outcome) {
    case PreinstallOutcome::kNothingToDo:
      return "nothing to install";
    case PreinstallOutcome::kProvided:
      return "the toolchain brings them";
    case PreinstallOutcome::kUpToDate:
      return "already there";
    case PreinstallOutcome::kInstalled:
      return "installed";
  }
  return "";
}

Result<std::vector<const Language*>> Choose(const Registry& registry,
                                            const std::vector<std::string>& names) {
  std::vector<const Language*> chosen;
  std::vector<std::string_view> ids;
  for (const Language& language : registry.all()) {
    ids.push_back(language.id);
    if (names.empty() && language.packages && !language.packages->preinstalled.empty()) {
      chosen.push_back(&language);
    }
  }
  for (const std::string& name : names) {
    const Language* language = registry.Find(name);
    if (language == nullptr) {
      return Error(ErrorKind::kNotFound, fmt::format("no language \"{}\"{} (known: {})", name,
                                                     DidYouMean(name, ids), fmt::join(ids, ", ")));
    }
    chosen.push_back(language);
  }
  return chosen;
}

/// The toolchain for installing. It may be that `requires` is only unmet because the packages are
/// not there yet, so that is not asked for.
Result<languages::Toolchain> InstallingToolchain(Language language, const Context& context) {
  const config::Settings& settings = context.config.settings;
  language.toolchain.requires_files.clear();
  const std::string id = language.id;
  languages::Toolchains found =
      languages::FindToolchains({std::move(language)},
                                {.path = SearchPath(),
                                 .cache_file = settings.cache_dir + "/toolchains.json",
                                 .packages_dir = settings.packages_dir},
                                context.log);
  return std::move(found.at(id));
}

/// False when it failed.
bool InstallOne(const Language& language, const Context& context) {
  const config::Settings& settings = context.config.settings;
  const Result<languages::Toolchain> toolchain = InstallingToolchain(language, context);
  if (!toolchain.ok()) {
    // The languages that are offered are those that are found; a missing one is no failure here.
    context.out.PrintLine(fmt::format("{}: skipped, {}", language.id, toolchain.error().message()));
    return true;
  }
  const Result<PreinstallOutcome> outcome = languages::Preinstall(
      language, *toolchain, {.packages_dir = settings.packages_dir, .path = SearchPath()});
  if (!outcome.ok()) {
    context.err.PrintLine(fmt::format("{}: {}", language.id, outcome.error().message()));
    return false;
  }
  const std::vector<std::string> none;
  context.out.PrintLine(
      fmt::format("{}: {} ({})", language.id,
                  fmt::join(language.packages ? language.packages->preinstalled : none, " "),
                  Describe(*outcome)));
  return true;
}

int Run(const std::vector<std::string>& names, const Context& context) {
  const auto registry = LoadRegistry(context.config.settings);
  if (!registry.ok()) {
    context.err.PrintLine(registry.error().message());
    return kUsage;
  }
  const auto chosen = Choose(*registry, names);
  if (!chosen.ok()) {
    context.err.PrintLine(chosen.error().message());
    return kUsage;
  }
  bool all_well = true;
  for (const Language* language : *chosen) all_well &= InstallOne(*language, context);
  return all_well ? kSuccess : kFailure;
}

}  // namespace

Subcommand PreinstallCommand() {
  const auto names = std::make_shared<std::vector<std::string>>();
  return {
      .name = "preinstall",
      .doc =
          "Install the packages that language files call preinstalled, where every run sees them",
      .options = {{.name = "language",
                   .doc = "Languages to install for [all that name packages]",
                   .into = names}},
      .run = [names](const Context& context) { return Run(*names, context); }};
}

}  // namespace polybox::cmd
