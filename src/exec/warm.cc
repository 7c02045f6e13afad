#include "exec/warm.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <sys/resource.h>

#include "languages/placeholders.h"

namespace polybox::exec {
namespace {

using languages::WarmKind;

// Beginnings of variables that the C library and the loader read only once, at the start of a
// process.
constexpr std::string_view kEarly[] = {"LD_", "GLIBC_",  "MALLOC_",    "LC_",    "LANG",
                                       "TZ",  "LOCPATH", "GCONV_PATH", "NLSPATH"};

bool IsEarly(std::string_view variable, const languages::Warm& warm) {
  const auto begins = [&](std::string_view name) { return variable.starts_with(name); };
  return std::ranges::any_of(kEarly, begins) || std::ranges::any_of(warm.early_env, begins);
}

std::set<std::string> EarlyOnes(const std::vector<std::string>& env, const languages::Warm& warm) {
  std::set<std::string> early;
  for (const std::string& variable : env) {
    if (IsEarly(variable, warm)) early.insert(variable);
  }
  return early;
}

bool NamesEntry(const languages::Argv& command) {
  return std::ranges::any_of(
      command, [](const std::string& word) { return word.find("{entry}") != std::string::npos; });
}

}  // namespace

jail::Warm WarmFor(const launch::Installation& installation, const Preloads& preloads,
                   const UsualRun& usual) {
  const languages::Language& language = installation.language;
  jail::Warm warm;
  if (language.warm.kind == WarmKind::kExec) return warm;
  // The interpreter is started with the environment and limits of a run.
  Result<jail::RunRequest> run = launch::RequestFor(installation, language.run, {});
  if (!run.ok()) return warm;
  launch::NameOutput(installation, usual.output_directory, *run);
  const std::string& entry = language.entry.file;
  const std::string path = installation.places.work + "/" + entry;
  if (NamesEntry(language.warm.command)) warm.start.entry = path;
  warm.file = std::string(jail::kWarmDirectory) + "/start" + entry.substr(entry.rfind('.'));
  warm.program = language.warm.program;
  warm.start.kind =
      language.warm.kind == WarmKind::kZygote ? jail::WarmKind::kZygote : jail::WarmKind::kPrestart;
  warm.start.argv =
      languages::Expand(language.warm.command, {{"executable", installation.toolchain.executable},
                                                {"entry", path},
                                                {"usual_entry", path},
                                                {"warm", warm.file}});
  const auto add = [&](const std::vector<std::string>& modules) {
    warm.start.argv.insert(warm.start.argv.end(), modules.begin(), modules.end());
  };
  add(language.warm.preload);
  if (const auto more = preloads.find(language.id); more != preloads.end()) add(more->second);
  warm.start.env = run->env;
  warm.start.limits = {{RLIMIT_STACK, run->limits.stack.count()}};
  warm.limits = jail::GroupLimits(run->limits);
  return warm;
}

bool TakesOver(const launch::Installation& installation, const jail::RunRequest& run) {
  const jail::WarmStart& start = installation.warm.start;
  if (start.kind == jail::WarmKind::kNone) return false;
  const languages::Warm& warm = installation.language.warm;
  const bool known_entry = start.entry.empty() || std::ranges::count(run.argv, start.entry) != 0;
  return known_entry && start.limits.at(0).value == run.limits.stack.count() &&
         EarlyOnes(start.env, warm) == EarlyOnes(run.env, warm);
}

}  // namespace polybox::exec
