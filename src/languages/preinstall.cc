#include "languages/preinstall.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.h"
#include "base/printable.h"
#include "base/scope_exit.h"
#include "languages/placeholders.h"
#include "sys/command.h"

namespace polybox::languages {
namespace {

namespace fs = std::filesystem;

// The name of a file in the set's directory that says from what the set was made.
constexpr const char* kStamp = ".polybox-set";

/// Returns a text that changes when the set must be installed again.
std::string SetDescription(const Packages& packages, const Toolchain& toolchain) {
  return fmt::format("{}\n{}\n{}\n", toolchain.version, fmt::join(packages.install, " "),
                     fmt::join(packages.preinstalled, "\n"));
}

/// Returns the install command, with one argument for each package instead of {requirements}.
Argv InstallCommand(const Packages& packages, const Placeholders& values) {
  Argv command;
  for (const std::string& word : packages.install) {
    if (word == "{requirements}") {
      command.insert(command.end(), packages.preinstalled.begin(), packages.preinstalled.end());
    } else {
      command.push_back(Expand(word, values));
    }
  }
  return command;
}

/// Removes write permission from all files. Every run reads them, and none may change them.
void MakeReadOnly(const fs::path& directory) {
  constexpr auto kWrite = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
  constexpr auto kRead = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
  constexpr auto kEnter = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(directory, ignored)) {
    if (entry.is_symlink(ignored)) continue;
    fs::permissions(entry, kWrite, fs::perm_options::remove, ignored);
    const auto readable = entry.is_directory(ignored) ? kRead | kEnter : kRead;
    fs::permissions(entry, readable, fs::perm_options::add, ignored);
  }
  fs::permissions(directory, kRead | kEnter, ignored);
}

void RemoveTree(const fs::path& directory) {
  std::error_code ignored;
  fs::permissions(directory, fs::perms::owner_all, ignored);
  for (const auto& entry : fs::recursive_directory_iterator(directory, ignored)) {
    if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) {
      fs::permissions(entry, fs::perms::owner_all, ignored);
    }
  }
  fs::remove_all(directory, ignored);
}

Status RunInstaller(const Packages& packages, const Toolchain& toolchain, const std::string& target,
                    const std::string& path) {
  const Placeholders values = {
      {"executable", toolchain.executable}, {"root", toolchain.roots[0]}, {"target", target}};
  Argv command = InstallCommand(packages, values);
  if (command[0].find('/') == std::string::npos) {
    const std::string name = command[0];
    command[0] = sys::FindOnPath(name, path);
    if (command[0].empty()) {
      return Error(ErrorKind::kUnavailable, fmt::format("\"{}\" not found on PATH", name));
    }
  }
  POLYBOX_ASSIGN_OR_RETURN(const sys::CommandOutput output,
                           sys::RunCommand({.argv = std::move(command),
                                            .env = {},
                                            .directory = target,
                                            .timeout = packages.limits.wall_time}));
  if (output.ok()) return {};
  // The message contains the whole output, because the cause often stands at its beginning.
  std::string said = ToUtf8(output.err + output.out);
  said.erase(said.find_last_not_of(" \n") + 1);
  if (output.timed_out) said += "\n" + ExplainLate(packages.limits.wall_time);
  return Error(ErrorKind::kUnavailable,
               fmt::format("{} failed: {}: {}", packages.installer, output.Reason(), said));
}

/// Replaces the directory `set` by `fresh`. The old directory is moved away first, because rename()
/// cannot replace a directory that is not empty.
Status SwapIn(const std::string& fresh, const std::string& set) {
  const std::string old = fresh + "-old";
  if (std::rename(set.c_str(), old.c_str()) != 0 && errno != ENOENT) {
    return Error::FromErrno("move aside " + set);
  }
  if (std::rename(fresh.c_str(), set.c_str()) != 0) {
    const Error error = Error::FromErrno("move to " + set);
    // The old set returns to its place.
    std::rename(old.c_str(), set.c_str());
    return error;
  }
  RemoveTree(old);
  return {};
}

/// Installs a set into a new directory and puts it in place. The new directory is removed after a
/// failure.
Status InstallSet(const Packages& packages, const Toolchain& toolchain, const std::string& set,
                  const PreinstallOptions& options) {
  std::error_code error;
  fs::create_directories(options.packages_dir, error);
  if (error) return Error::FromErrno("make " + options.packages_dir, error.value());
  std::string fresh = set + ".XXXXXX";
  if (::mkdtemp(fresh.data()) == nullptr) return Error::FromErrno("make " + fresh);
  const ScopeExit remove_fresh([&] { RemoveTree(fresh); });
  POLYBOX_RETURN_IF_ERROR(options.install ? options.install(fresh)
                                          : RunInstaller(packages, toolchain, fresh, options.path));
  // The description is written last, so a set with it is complete.
  POLYBOX_RETURN_IF_ERROR(ReplaceFile(fresh + "/" + kStamp, SetDescription(packages, toolchain)));
  MakeReadOnly(fresh);
  return SwapIn(fresh, set);
}

bool ToolchainProvides(const Packages& packages, const Toolchain& toolchain) {
  if (packages.provided_check.empty()) return false;
  const Placeholders values = {{"executable", toolchain.executable}};
  const auto output = sys::RunCommand({.argv = Expand(packages.provided_check, values)});
  return output.ok() && output->ok();
}

}  // namespace

std::string ExplainLate(Duration limit, const std::string& name) {
  return fmt::format("polybox: the installation took longer than {}; {} allows more",
                     FormatDuration(limit),
                     name.empty() ? "wall_time in [packages.limits] of the language's file" : name);
}

Result<PreinstallOutcome> Preinstall(const Language& language, const Toolchain& toolchain,
                                     const PreinstallOptions& options) {
  if (!language.packages || language.packages->preinstalled.empty()) {
    return PreinstallOutcome::kNothingToDo;
  }
  const Packages& packages = *language.packages;
  const std::string set = options.packages_dir + "/" + language.id;
  const std::string stamp = ReadFile(set + "/" + kStamp).value_or("");
  if (stamp == SetDescription(packages, toolchain)) return PreinstallOutcome::kUpToDate;
  if (ToolchainProvides(packages, toolchain)) return PreinstallOutcome::kProvided;
  POLYBOX_RETURN_IF_ERROR(InstallSet(packages, toolchain, set, options));
  return PreinstallOutcome::kInstalled;
}

}  // namespace polybox::languages
