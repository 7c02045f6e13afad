// Reads from /proc what a process and all its descendants use: processes, threads, processor time
// and memory. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/units.h"

namespace polybox::sys {

/// The values of /proc/PID/stat that polybox uses.
struct ProcessStat {
  pid_t pid = -1;
  pid_t parent = -1;
  std::int64_t threads = 0;
  /// Processor time of the process itself.
  Duration own{};
  /// Processor time of all descendants that have been reaped.
  Duration reaped{};
  /// Start time in clock ticks since boot. Distinguishes this process from a later process with the
  /// same PID.
  std::uint64_t start = 0;
  /// Address space; 0 for a zombie, and for a process whose first thread has ended.
  Bytes mapped{};
  Bytes resident{};
};

/// Parses the text of /proc/PID/stat. Returns nothing when the text has another format.
std::optional<ProcessStat> ParseProcessStat(std::string_view text);

/// Returns the sum of the lines "KEY:  N kB" for the given keys. Returns nothing when a key is
/// missing.
std::optional<Bytes> SumKibibytes(std::string_view text, const std::vector<std::string_view>& keys);

/// A process and its descendants, including zombies, as read from the files below `proc`.
class ProcessTree {
 public:
  explicit ProcessTree(std::string proc = "/proc") : proc_(std::move(proc)) {}

  /// Reads `root` and its descendants. Stops when they have more than `most` threads together.
  /// Returns an empty list when `root` has ended. Processes that start or end during the call may
  /// be missing.
  std::vector<ProcessStat> Read(pid_t root, std::int64_t most) const;

  /// Nothing when the process is gone.
  std::optional<ProcessStat> Stat(pid_t pid) const;

  /// Memory of a process that is not the content of a file on a disk. Pages that processes share
  /// count for each of them.
  Bytes PrivateMemory(const ProcessStat& process) const;
  /// The same, but a page that n processes share counts one nth for each. Reads the page tables,
  /// which takes milliseconds for a large process.
  Bytes ProportionalMemory(const ProcessStat& process) const;

 private:
  using Children = std::vector<std::pair<pid_t, pid_t>>;

  std::string Read(pid_t pid, const std::string& file) const;
  std::vector<std::string> Threads(pid_t pid) const;
  /// Calls `read` with the text of `file` of the process, or of another thread if the first has
  /// ended, until `read` returns true.
  bool ReadMemory(const ProcessStat& process, const std::string& file,
                  const std::function<bool(std::string_view)>& read) const;
  /// SumKibibytes() of such a text.
  std::optional<Bytes> SumMemory(const ProcessStat& process, const std::string& file,
                                 const std::vector<std::string_view>& keys) const;
  std::vector<pid_t> ChildrenOf(const ProcessStat& stat) const;
  /// Parent and child of every process, for kernels without the files "children" in /proc.
  Children ScanAll() const;

  std::string proc_;
};

}  // namespace polybox::sys
