// Runs the command of a check in the jail of a workspace, and makes the result of the check: the
// command's complete output and its report go to the parser, and the evidence to the verdict. The
// command's whole process tree has ended when the function returns. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "machine/machine.h"
#include "shells/shells.h"
#include "verify/check_result.h"
#include "verify/detector.h"

namespace polybox::verify {

/// How far a command has come.
struct RunProgress {
  double seconds = 0;
  std::int64_t lines = 0;
};

/// Where commands run, and for whom. The references must outlive the run.
struct Ground {
  machine::Machine& machine;
  shells::Shells& shells;
  shells::Owner owner;
  std::stop_token stop = {};
  /// Called every few seconds; may be empty.
  std::function<void(const RunProgress&)> progress = {};
};

struct RunOptions {
  Duration timeout{};
  /// Whether the handle of the output outlives the run when something went wrong.
  bool keeps_output = true;
};

/// A command that has ended.
struct CommandRun {
  /// As a person would type it.
  std::string command = {};
  /// Has the output. Its handle stays until Shells::Forget().
  std::shared_ptr<shells::Shell> shell = {};
  jail::Outcome outcome = {};
  /// The programs that are missing.
  std::vector<std::string> missing = {};
};

/// Runs the command of a plan and reads nothing of its output.
Result<CommandRun> RunPlain(const Ground& ground, const Project& project, const Plan& plan,
                            Duration timeout);

/// Runs a plan that `detector` has made for the project. An error means that the command could not
/// be started or that the caller gave up; all else is in the result.
Result<CheckResult> RunCheck(const Ground& ground, const Detector& detector, const Project& project,
                             const Plan& plan, const RunOptions& options);

}  // namespace polybox::verify
