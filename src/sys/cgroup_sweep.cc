// Names the cgroups of a server, and finds and removes the cgroups of dead servers.
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/file.h>

#include "base/files.h"
#include "sys/cgroup_slot.h"

namespace polybox::sys {
namespace {

constexpr std::string_view kPrefix = "polybox-";
/// A home, a slot, its run directory (v2), and the directory of one process of a lease. Guests make
/// no cgroups, because they see no cgroup file system.
constexpr int kDeepest = 4;

struct Process {
  std::uint64_t pid = 0;
  /// In clock ticks since boot. The pid and the start time together identify a process uniquely.
  std::uint64_t start_time = 0;
};

/// Parses exactly `polybox-<pid>-<start time>`.
std::optional<Process> ParseHomeName(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos || name.ends_with('\n')) return std::nullopt;
  const auto pid = ParseCgroupNumber(name.substr(0, dash));
  const auto start_time = ParseCgroupNumber(name.substr(dash + 1));
  if (!pid || !start_time) return std::nullopt;
  return Process{*pid, *start_time};
}

struct ProcessState {
  char state = '?';
  std::uint64_t start_time = 0;
};

/// Parses a line of /proc/<pid>/stat. The name is in parentheses and may contain parentheses.
std::optional<ProcessState> ParseStat(std::string_view line) {
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string_view::npos || line.size() < name_end + 3) return std::nullopt;
  std::string_view rest = line.substr(name_end + 2);
  const char state = rest[0];
  constexpr int kFieldsBetween = 19;  // the state is field 3, the start time field 22
  for (int field = 0; field < kFieldsBetween; ++field) {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(space + 1);
  }
  const auto start_time = ParseCgroupNumber(rest.substr(0, rest.find(' ')));
  if (!start_time) return std::nullopt;
  return ProcessState{state, *start_time};
}

/// Returns whether the process exists; true when this cannot be told.
bool Lives(const Process& process) {
  const auto line = ReadFile(fmt::format("/proc/{}/stat", process.pid));
  if (!line.ok()) {
    const int error = line.error().system_errno();
    return error != ENOENT && error != ESRCH;
  }
  const auto found = ParseStat(*line);
  if (!found) return true;
  const bool ended = found->state == 'Z' || found->state == 'X';
  return found->start_time == process.start_time && !ended;
}

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

/// Returns the names of the directories in the directory open at `directory` (borrowed).
std::vector<std::string> Subdirectories(int directory) {
  std::vector<std::string> names;
  UniqueFd own(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own.valid()) return names;
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(own.get()));
  if (!stream) return names;
  (void)own.release();  // the stream closes it
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

/// Removes the cgroup and all cgroups below it. Returns 0, or the errno of the first cgroup that
/// could not be removed.
int RemoveTree(int parent, const std::string& name, int depth) {
  UniqueFd directory(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return errno;
  if (depth < kDeepest) {
    for (const std::string& below : Subdirectories(directory.get())) {
      if (const int error = RemoveTree(directory.get(), below, depth + 1)) return error;
    }
  }
  return ::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 ? 0 : errno;
}

/// Removes a home. A home whose lock a process holds belongs to a living server and stays.
void SweepHome(int base, const std::string& base_path, const std::string& name,
               CgroupSweep& sweep) {
  const UniqueFd home(::openat(base, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!home.valid() || ::flock(home.get(), LOCK_EX | LOCK_NB) != 0) return;
  const int error = RemoveTree(base, name, 1);
  if (error == 0) {
    ++sweep.removed;
  } else {
    sweep.kept.push_back(
        fmt::format("{}/{}: {}", base_path, name, std::generic_category().message(error)));
  }
}

}  // namespace

std::string CgroupBase(const CgroupHierarchy& hierarchy) {
  const std::string& own = hierarchy.own_directory;
  const std::string leaf = fmt::format("/{}", kSelfLeaf);
  const bool moved = hierarchy.version == CgroupVersion::kV2 && own.ends_with(leaf);
  return moved ? own.substr(0, own.size() - leaf.size()) : own;
}

Result<std::string> CgroupHomeName() {
  const auto line = ReadFile("/proc/self/stat");
  if (!line.ok()) {
    return Error(line.error())
        .WithFix(
            "let polybox read /proc; an outer polybox jail of grade landlock hides it, those of "
            "grade full and rootless do not");
  }
  const auto self = ParseStat(*line);
  if (!self) return Error(ErrorKind::kSystem, "/proc/self/stat: no start time");
  return fmt::format("{}{}-{}", kPrefix, ::getpid(), self->start_time);
}

bool IsOfDeadServer(std::string_view name) {
  // Without /proc every server would look dead.
  const auto owner = ParseHomeName(name);
  return owner && CgroupHomeName().ok() && !Lives(*owner);
}

CgroupSweep SweepLeftovers(const std::vector<CgroupHierarchy>& hierarchies) {
  CgroupSweep sweep;
  if (!CgroupHomeName().ok()) return sweep;  // without /proc every server would look dead
  for (const CgroupHierarchy& hierarchy : hierarchies) {
    const std::string path = CgroupBase(hierarchy);
    const auto base = OpenDirectory(AT_FDCWD, path);
    if (!base.ok()) continue;
    for (const std::string& name : Subdirectories(base->get())) {
      const auto owner = ParseHomeName(name);
      if (owner && !Lives(*owner)) SweepHome(base->get(), path, name, sweep);
    }
  }
  return sweep;
}

}  // namespace polybox::sys
