// What all shell tools do with their arguments: find the workspace, its machine and the caller's
// commands, and describe a command. The words of the errors are a contract: agents know them. Any
// thread; the objects belong to one call.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/bind.h"
#include "machine/machines.h"
#include "shells/shells.h"
#include "tools/context.h"

namespace polybox::tools {

class ShellCall {
 public:
  /// Fails if the call names no workspace, or one that is read-only.
  static Result<ShellCall> Begin(const Context& context);

  const shells::Owner& owner() const { return owner_; }
  machine::Machine& machine() const { return *machine_; }
  shells::Shells& shells() const { return *shells_; }
  /// Fails with "shell_id is required" or "unknown shell_id: ...".
  Result<std::shared_ptr<shells::Shell>> Find(const std::string& shell_id) const;
  /// Adds what the machine lacks in this isolation grade. `notes` are for the data; what is new to
  /// the caller is also returned, for the text.
  std::vector<std::string> AddMachineNotes(std::vector<std::string>& notes) const;

 private:
  ShellCall(shells::Owner owner, machine::Machine* machine, shells::Shells* shells)
      : owner_(std::move(owner)), machine_(machine), shells_(shells) {}

  shells::Owner owner_;
  machine::Machine* machine_;
  shells::Shells* shells_;
};

/// Returns the absolute path of a directory of the workspace. Fails with "cwd: ...".
Result<std::string> DirectoryFor(const Context& context, std::string_view argument);

/// Something that the command lacked, as data.
struct ViolationData {
  std::string kind = {};
  std::string source = {};
  std::string subject = {};
  std::string what = {};
  std::string fix = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("kind", &ViolationData::kind),
                      json::Required("source", &ViolationData::source),
                      json::Required("subject", &ViolationData::subject),
                      json::Required("what", &ViolationData::what),
                      json::Required("fix", &ViolationData::fix));
  }
};

/// Returns what a command lacked: what the machine saw, how it ended, and what its output says.
std::vector<ViolationData> ViolationsOf(machine::Machine& machine, shells::Shell& shell);
/// Returns one line for each.
std::string ViolationLines(const std::vector<ViolationData>& violations);

/// Writes them to the log of the client, whose person may want to change a setting.
void LogViolations(const Context& context, const std::vector<ViolationData>& violations);

/// Returns "running" or "completed (exit N)", with the reason of an end that was not its own.
std::string StatusOf(shells::Shell& shell);
/// Returns a time as in 2026-04-23T14:30:22+01:00.
std::string TimeText(std::chrono::system_clock::time_point time);
/// Returns a time of the arguments: `fallback` if it is not positive, `most` if it is more.
Duration SecondsOf(double seconds, Duration fallback, Duration most);

}  // namespace polybox::tools
