#include "jail/outcome.h"

#include <array>
#include <csignal>
#include <string.h>  // NOLINT(modernize-deprecated-headers): sigabbrev_np is a GNU extension

#include <fmt/format.h>

namespace polybox::jail {

std::string_view EndName(End end) {
  constexpr std::array<std::string_view, 10> kNames = {
      "exited",       "signalled",  "timed_out",     "cpu_limit", "out_of_memory",
      "output_limit", "disk_limit", "process_limit", "cancelled", "setup_failed"};
  static_assert(kNames.size() == static_cast<std::size_t>(End::kSetupFailed) + 1);
  return kNames.at(static_cast<std::size_t>(end));
}

std::string SignalName(int signal) {
  if (signal == 0) return "";
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? fmt::format("SIG{}", signal) : fmt::format("SIG{}", name);
}

int ShellCode(const Outcome& outcome) {
  switch (outcome.end) {
    case End::kExited:
      return outcome.exit_code;
    case End::kSetupFailed:
      return 125;
    default:
      return 128 + (outcome.signal == 0 ? SIGKILL : outcome.signal);
  }
}

std::string Explain(const Outcome& outcome, const HeldLimits& limits) {
  switch (outcome.end) {
    case End::kExited:
    case End::kOutOfMemory:
      return "";
    case End::kSignalled:
      return fmt::format("ended by {}", SignalName(outcome.signal));
    case End::kTimedOut:
      return fmt::format("stopped: it ran longer than {}", FormatDuration(limits.wall_time));
    case End::kCpuLimit:
      return "stopped: it used up its processor time";
    case End::kOutputLimit:
      return fmt::format("stopped: it printed more than {}", FormatBytes(limits.output));
    case End::kDiskLimit:
      return "stopped: its directory got too full";
    case End::kProcessLimit:
      return "stopped: it had too many processes";
    case End::kCancelled:
      return "cancelled";
    case End::kSetupFailed:
      return "could not be started: " + outcome.setup_failure;
  }
  return "";
}

}  // namespace polybox::jail
