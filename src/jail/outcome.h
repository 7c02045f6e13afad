// How a run ended: a value, never an error. What the guest did (crashed, ran out of time or memory)
// and what we failed to do for it (kSetupFailed) are told apart, and nothing is inferred from text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace polybox::jail {

enum class End {
  kExited,
  kSignalled,
  kTimedOut,     ///< The wall time was up.
  kCpuLimit,     ///< The processor time was used up.
  kOutOfMemory,  ///< The kernel killed the guest for want of memory.
  kOutputLimit,
  kDiskLimit,    ///< A directory that outlives its guests got too full.
  kCancelled,    ///< Whoever asked for the run no longer wants it.
  kSetupFailed,  ///< The guest never started.
};

std::string_view EndName(End end);

struct Outcome {
  End end = End::kExited;
  /// Its own, when it exited.
  int exit_code = 0;
  /// The signal that ended it, 0 for none.
  int signal = 0;
  Duration wall{};
  std::optional<Duration> cpu_user;
  std::optional<Duration> cpu_system;
  std::optional<Bytes> memory_peak;
  std::optional<std::int64_t> processes_peak;
  /// Processes of the run that the kernel killed for want of memory, the guest itself or a child
  /// that it outlived.
  std::int64_t oom_kills = 0;
  /// kSetupFailed: which step, and why.
  std::string setup_failure;
  /// The interpreter had started before there was a program.
  bool warm = false;
};

/// "SIGKILL"; "" for 0.
std::string SignalName(int signal);

/// What a shell would report: the exit code, or 128 and the signal.
int ShellCode(const Outcome& outcome);

/// Those that an explanation names.
struct HeldLimits {
  Bytes memory;
  Duration wall_time{};
  Bytes output;
};

/// One line for a person about an end that was not the guest's own exit; "" when there is nothing
/// to explain.
std::string Explain(const Outcome& outcome, const HeldLimits& limits);

}  // namespace polybox::jail
