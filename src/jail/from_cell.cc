#include "jail/from_cell.h"

#include <cerrno>
#include <csignal>
#include <system_error>

#include <fmt/format.h>
#include <sys/wait.h>

#include "sys/temporary.h"

namespace polybox::jail {

std::string FailedStep(const init::Failed& failed, const std::string& step) {
  if (step.empty()) return init::StageName(failed.stage);
  return fmt::format("{} ({})", init::StageName(failed.stage), step);
}

std::string Sentence(const init::Failed& failed, const std::string& step) {
  return fmt::format("{}: {}", FailedStep(failed, step),
                     std::generic_category().message(failed.error));
}

Outcome FromEnded(const init::Ended& ended) {
  Outcome outcome;
  outcome.end = WIFSIGNALED(ended.status) ? End::kSignalled : End::kExited;
  outcome.exit_code = WIFSIGNALED(ended.status) ? 0 : WEXITSTATUS(ended.status);
  outcome.signal = WIFSIGNALED(ended.status) ? WTERMSIG(ended.status) : 0;
  outcome.cpu_user = Duration(ended.user_nanoseconds);
  outcome.cpu_system = Duration(ended.system_nanoseconds);
  outcome.memory_peak = Bytes(ended.largest_resident_bytes);
  return outcome;
}

void AddUsage(const sys::SlotCgroup& cgroup, Outcome& outcome) {
  const Result<sys::CgroupUsage> usage = cgroup.ReadUsage();
  if (!usage.ok()) return;
  if (usage->cpu_user) outcome.cpu_user = usage->cpu_user;
  if (usage->cpu_system) outcome.cpu_system = usage->cpu_system;
  outcome.memory_peak = usage->memory_peak;
  outcome.processes_peak = usage->processes_peak;
  outcome.oom_kills = usage->oom_kills.value_or(0);
  const bool killed = outcome.end == End::kSignalled && outcome.signal == SIGKILL;
  if (killed && outcome.oom_kills > 0) outcome.end = End::kOutOfMemory;
}

Outcome NotStarted(const init::Failed& failed, const std::string& program,
                   const ScratchHome* home) {
  Outcome outcome;
  outcome.end = End::kSetupFailed;
  const bool executed = failed.stage == init::Stage::kExec;
  outcome.setup_failure = Sentence(failed, executed ? program : "");
  if (executed && failed.error == EACCES && home != nullptr && !sys::MayExecuteIn(home->path())) {
    outcome.setup_failure +=
        " (the directory for temporary files is mounted noexec: mount a volume on /tmp, or name "
        "another directory with TMPDIR)";
  }
  return outcome;
}

Status CheckSize(const std::string& message) {
  if (message.size() <= init::kLargestMessage) return {};
  return Error(ErrorKind::kInvalid,
               fmt::format("arguments and environment are too large: {} bytes", message.size()));
}

}  // namespace polybox::jail
