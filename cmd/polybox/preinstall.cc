// polybox preinstall: installs the preinstalled packages of the language files into the directory
// that every run sees.
#include "languages/preinstall.h"

#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"
#include "command.h"
#include "complaint.h"
#include "installed.h"
#include "isolation.h"
#include "launch/jail_home.h"
#include "packages.h"
#include "packages/installer.h"
#include "progress.h"

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
      return Error(ErrorKind::kInvalid, fmt::format("no language \"{}\"{} (known: {})", name,
                                                    DidYouMean(name, ids), fmt::join(ids, ", ")));
    }
    chosen.push_back(language);
  }
  return chosen;
}

/// Finds the toolchain for installing. `requires` is not checked, because it may be unmet only
/// until the packages are installed.
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

/// Where installers run: in a jail like the installers of requests, or as a normal process of this
/// user.
class Place {
 public:
  /// An error says why there is no jail.
  static Result<std::unique_ptr<Place>> Jailed(const Context& context) {
    const config::Settings& settings = context.config.settings;
    POLYBOX_ASSIGN_OR_RETURN(launch::JailHome home, HomeFor(settings, context.log));
    if (!jail::HasNamespaces(home.grade())) {
      return Error(ErrorKind::kUnavailable, fmt::format("the isolation grade {} has no network for "
                                                        "installers",
                                                        jail::GradeName(home.grade())));
    }
    std::unique_ptr<Place> place(new Place(std::move(home)));
    POLYBOX_ASSIGN_OR_RETURN(
        place->installer_,
        packages::MakeJailInstaller(place->home_, PackagesOf(settings), context.log));
    return place;
  }

  /// Installs the packages into `target`.
  Status Install(const Language& language, const languages::Toolchain& toolchain,
                 const std::string& target) {
    const languages::Packages& packages = *language.packages;
    POLYBOX_ASSIGN_OR_RETURN(const packages::InstallOutcome outcome,
                             installer_->Install({.installation = {language, toolchain, ""},
                                                  .requirements = packages.preinstalled,
                                                  .time = packages.limits.wall_time},
                                                 target));
    if (outcome.failure.empty()) return {};
    const std::string late =
        outcome.timed_out ? "\n" + languages::ExplainLate(packages.limits.wall_time) : "";
    return Error(ErrorKind::kUnavailable, fmt::format("{} failed: {}: {}{}", packages.installer,
                                                      outcome.failure, outcome.output, late));
  }

 private:
  explicit Place(launch::JailHome home) : home_(std::move(home)) {}

  launch::JailHome home_;
  std::unique_ptr<packages::Installer> installer_;
};

/// Returns false when the installation failed. `place` is null where there is no jail.
bool InstallOne(const Language& language, Place* place, const Context& context) {
  const config::Settings& settings = context.config.settings;
  const Result<languages::Toolchain> toolchain = InstallingToolchain(language, context);
  if (!toolchain.ok()) {
    // A language without a toolchain is not offered on this host, so it is no failure.
    context.out.PrintLine(fmt::format("{}: skipped, {}", language.id, toolchain.error().message()));
    return true;
  }
  languages::PreinstallOptions options = {.packages_dir = settings.packages_dir,
                                          .path = SearchPath()};
  if (place != nullptr) {
    options.install = [&](const std::string& target) {
      return place->Install(language, *toolchain, target);
    };
  }
  Progress progress(context.err);
  progress.Begin(fmt::format("installing packages of {}", language.name));
  const Result<PreinstallOutcome> outcome = languages::Preinstall(language, *toolchain, options);
  progress.End();
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

struct Flags {
  std::vector<std::string> languages;
  bool unjailed = false;
};

int Run(const Flags& flags, const Context& context) {
  const auto registry = LoadRegistry(context.config.settings);
  if (!registry.ok()) {
    return Complain({.out = context.out, .err = context.err, .text = registry.error().message()},
                    registry.error());
  }
  const auto chosen = Choose(*registry, flags.languages);
  if (!chosen.ok()) {
    return Complain({.out = context.out, .err = context.err, .text = chosen.error().message()},
                    chosen.error());
  }
  std::unique_ptr<Place> place;
  if (!flags.unjailed) {
    Result<std::unique_ptr<Place>> jailed = Place::Jailed(context);
    if (jailed.ok()) {
      place = std::move(jailed).value();
    } else {
      context.log.Warn("installers run without a jail", {{"reason", jailed.error().message()}});
    }
  }
  bool all_well = true;
  for (const Language* language : *chosen) {
    all_well &= InstallOne(*language, place.get(), context);
  }
  return all_well ? kSuccess : kFailure;
}

}  // namespace

Subcommand PreinstallCommand() {
  const auto names = std::make_shared<std::vector<std::string>>();
  const auto unjailed = std::make_shared<bool>(false);
  return {
      .name = "preinstall",
      .doc =
          "Install the packages that language files call preinstalled, where every run sees them",
      .options = {{.name = "language",
                   .doc = "Languages to install for [all that name packages]",
                   .into = names},
                  {.name = "--unjailed",
                   .doc = "Run installers with our own rights and network instead of in a jail",
                   .into = unjailed}},
      .run = [names, unjailed](const Context& context) {
        return Run({*names, *unjailed}, context);
      }};
}

}  // namespace polybox::cmd
