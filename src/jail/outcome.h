// How a run ended: a value, never an error. What the guest did (crashed, ran out of time or memory)
// and what polybox failed to do for the guest (kSetupFailed) are separate values. Nothing is
// inferred from text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace polybox::jail {

enum class End {
  kExited,
  kSignalled,
  kTimedOut,     ///< The wall time was up.
  kCpuLimit,     ///< The processor time was used up.
  kOutOfMemory,  ///< The guest was killed for want of memory: by the kernel, or by a TreeWatch.
  kOutputLimit,
  kDiskLimit,     ///< A directory that outlives its guests exceeded its limit.
  kProcessLimit,  ///< The run had more processes and threads than allowed, on a host where the
                  ///< kernel does not enforce that limit.
  kCancelled,     ///< The client no longer wants the run.
  kSetupFailed,   ///< The guest never started.
};

std::string_view EndName(End end);

struct Outcome {
  End end = End::kExited;
  /// The guest's exit code, when the guest exited.
  int exit_code = 0;
  /// The signal that ended the guest, 0 for none.
  int signal = 0;
  Duration wall{};
  std::optional<Duration> cpu_user;
  std::optional<Duration> cpu_system;
  std::optional<Bytes> memory_peak;
  std::optional<std::int64_t> processes_peak;
  /// The number of the run's processes that were killed for want of memory. A killed process may be
  /// the guest, or a child that the guest outlived.
  std::int64_t oom_kills = 0;
  /// Only for kSetupFailed: the step that failed, and why.
  std::string setup_failure;
  /// The program ran in an interpreter that had started before the request came.
  bool warm = false;
  /// One sentence for each limit that is lower than requested, because the hard limit of the
  /// polybox server is lower.
  std::vector<std::string> limits_lowered = {};
};

/// Returns the name, as in "SIGKILL"; "" for 0.
std::string SignalName(int signal);

/// Returns the exit status that a shell would report: the exit code, or 128 plus the signal.
int ShellCode(const Outcome& outcome);

/// The limits that Explain() names in its text.
struct HeldLimits {
  Duration wall_time{};
  Bytes output;
};

/// Returns one line for a person about an end that was not the guest's own exit; "" when there is
/// nothing to explain. For an end by want of memory, exec/memory_note.h has the text.
std::string Explain(const Outcome& outcome, const HeldLimits& limits);

}  // namespace polybox::jail
