#include "sys/process_tree.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <ranges>
#include <system_error>
#include <unistd.h>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "base/unique_fd.h"

namespace polybox::sys {
namespace {

/// Returns the whole numbers of a text with one blank between words. A word that is not a number
/// gives 0.
std::vector<std::int64_t> Numbers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    std::int64_t number = 0;
    std::from_chars(word.data(), word.data() + word.size(), number);
    numbers.push_back(number);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return numbers;
}

Duration FromTicks(std::int64_t ticks) {
  static const std::int64_t kPerSecond = ::sysconf(_SC_CLK_TCK);
  return std::chrono::nanoseconds(ticks * (1'000'000'000 / kPerSecond));
}

Bytes FromPages(std::int64_t pages) {
  static const std::int64_t kSize = ::sysconf(_SC_PAGESIZE);
  return Bytes(static_cast<std::uint64_t>(pages * kSize));
}

}  // namespace

std::optional<ProcessStat> ParseProcessStat(std::string_view text) {
  // The process name is in parentheses and may contain any byte, including parentheses and blanks.
  const std::size_t open = text.find(" (");
  const std::size_t close = text.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  // Indexes of the fields, counted from the third field of proc_pid_stat(5).
  enum Field : std::uint8_t {
    kParent = 1,
    kUser = 11,
    kSystem,
    kReapedUser,
    kReapedSystem,
    kThreads = 17,
    kStart = 19,
    kMapped,
    kResident
  };
  const std::vector<std::int64_t> pid = Numbers(text.substr(0, open));
  const std::vector<std::int64_t> all = Numbers(text.substr(close + 2));
  if (pid.size() != 1 || pid[0] <= 0 || all.size() <= kResident) return std::nullopt;
  return ProcessStat{.pid = static_cast<pid_t>(pid[0]),
                     .parent = static_cast<pid_t>(all[kParent]),
                     // The kernel reports 0 threads for an exited leader whose other threads still
                     // run.
                     .threads = std::max<std::int64_t>(all[kThreads], 1),
                     .own = FromTicks(all[kUser] + all[kSystem]),
                     .reaped = FromTicks(all[kReapedUser] + all[kReapedSystem]),
                     .start = static_cast<std::uint64_t>(all[kStart]),
                     .mapped = Bytes(static_cast<std::uint64_t>(all[kMapped])),
                     .resident = FromPages(all[kResident])};
}

std::optional<Bytes> SumKibibytes(std::string_view text,
                                  const std::vector<std::string_view>& keys) {
  std::uint64_t sum = 0;
  for (const std::string_view key : keys) {
    const std::size_t line = text.find(fmt::format("\n{}:", key));
    if (line == std::string_view::npos) return std::nullopt;
    std::size_t at = line + key.size() + 2;
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    std::uint64_t number = 0;
    std::from_chars(text.data() + at, text.data() + text.size(), number);
    sum += number;
  }
  return Bytes::KiB(sum);
}

std::string ProcessTree::Read(pid_t pid, const std::string& file) const {
  const std::string path = fmt::format("{}/{}/{}", proc_, pid, file);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> part;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
  ssize_t size = 0;
  while (fd.valid() && (size = ::read(fd.get(), part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(size));
    // A short read means the end of these files. Another read of "stat" would cost as much as the
    // first.
    if (static_cast<std::size_t>(size) < part.size() / 2) break;
  }
  return text;
}

std::optional<ProcessStat> ProcessTree::Stat(pid_t pid) const {
  std::optional<ProcessStat> stat = ParseProcessStat(Read(pid, "stat"));
  if (!stat || stat->mapped > Bytes() || stat->threads == 1) return stat;
  ReadMemory(*stat, "stat", [&stat](std::string_view text) {
    const std::optional<ProcessStat> thread = ParseProcessStat(text);
    if (!thread || thread->mapped == Bytes()) return false;
    stat->resident = thread->resident;
    return true;
  });
  return stat;
}

std::vector<std::string> ProcessTree::Threads(pid_t pid) const {
  std::vector<std::string> threads;
  std::error_code error;
  const std::string tasks = fmt::format("{}/{}/task", proc_, pid);
  for (auto task = std::filesystem::directory_iterator(tasks, error);
       !error && task != std::filesystem::directory_iterator(); task.increment(error)) {
    threads.push_back(task->path().filename().string());
  }
  return threads;
}

bool ProcessTree::ReadMemory(const ProcessStat& process, const std::string& file,
                             const std::function<bool(std::string_view)>& read) const {
  if (process.mapped > Bytes() || process.threads == 1) return read(Read(process.pid, file));
  // A guest can replace its threads as fast as they are listed.
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    const std::vector<std::string> threads = Threads(process.pid);
    // The last thread of the list is the youngest.
    for (const std::string& thread : threads | std::views::reverse) {
      if (read(Read(process.pid, fmt::format("task/{}/{}", thread, file)))) return true;
    }
  }
  return false;
}

std::vector<pid_t> ProcessTree::ChildrenOf(const ProcessStat& stat) const {
  std::vector<pid_t> children;
  const auto add = [&](const std::string& thread) {
    std::string text = Read(stat.pid, fmt::format("task/{}/children", thread));
    if (text.ends_with(' ')) text.pop_back();
    for (const std::int64_t child : Numbers(text)) children.push_back(static_cast<pid_t>(child));
  };
  if (stat.threads == 1) {
    add(std::to_string(stat.pid));
    return children;
  }
  for (const std::string& thread : Threads(stat.pid)) add(thread);
  return children;
}

ProcessTree::Children ProcessTree::ScanAll() const {
  Children all;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(proc_, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::vector<std::int64_t> number = Numbers(entry->path().filename().string());
    if (number.size() != 1 || number[0] <= 0) continue;
    if (const auto stat = Stat(static_cast<pid_t>(number[0]))) {
      all.emplace_back(stat->parent, stat->pid);
    }
  }
  return all;
}

std::vector<ProcessStat> ProcessTree::Read(pid_t root, std::int64_t most) const {
  const std::string children = fmt::format("{}/{}/task/{}/children", proc_, root, root);
  const bool has_children = ::access(children.c_str(), F_OK) == 0;
  const Children scanned = has_children ? Children() : ScanAll();
  std::vector<ProcessStat> found;
  std::unordered_set<pid_t> seen;
  std::int64_t threads = 0;
  for (std::vector<pid_t> next = {root}; !next.empty() && threads <= most;) {
    const pid_t pid = next.back();
    next.pop_back();
    // A process whose parent ends meanwhile gets another parent and can appear twice.
    if (!seen.insert(pid).second) continue;
    const std::optional<ProcessStat> stat = Stat(pid);
    if (!stat) continue;
    found.push_back(*stat);
    threads += stat->threads;
    if (has_children) {
      const std::vector<pid_t> more = ChildrenOf(*stat);
      next.insert(next.end(), more.begin(), more.end());
    }
    for (const auto& [parent, child] : scanned) {
      if (parent == pid) next.push_back(child);
    }
  }
  return found;
}

std::optional<Bytes> ProcessTree::SumMemory(const ProcessStat& process, const std::string& file,
                                            const std::vector<std::string_view>& keys) const {
  std::optional<Bytes> sum;
  ReadMemory(process, file, [&](std::string_view text) {
    sum = SumKibibytes(text, keys);
    return sum.has_value();
  });
  return sum;
}

Bytes ProcessTree::PrivateMemory(const ProcessStat& process) const {
  return SumMemory(process, "status", {"RssAnon", "RssShmem"}).value_or(Bytes());
}

Bytes ProcessTree::ProportionalMemory(const ProcessStat& process) const {
  // A process can close the file to us. What it shares then counts in full.
  const auto sum = SumMemory(process, "smaps_rollup", {"Pss_Anon", "Pss_Shmem"});
  return sum ? *sum : PrivateMemory(process);
}

}  // namespace polybox::sys
