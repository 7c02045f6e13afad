#include "jail/init/end_tree.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <set>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/unique_fd.h"

namespace polybox::jail::init {
namespace {

constexpr int kMostSeconds = 10;
constexpr long kPause = 100'000;  // nanoseconds between two looks

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  /// In clock ticks since boot. The PID and this time together name one process.
  unsigned long long start = 0;
};

std::string ReadProcFile(const char* pid, const char* file) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%s/%s", pid, file);
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return "";
  char text[2048];
  const ssize_t size = ::read(fd.get(), text, sizeof text);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "";
}

template <typename Visit>
void ForEachProcess(Visit visit) {
  DIR* all = ::opendir("/proc");
  if (all == nullptr) return;
  while (const dirent* entry = ::readdir(all)) {
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') visit(entry->d_name);
  }
  ::closedir(all);
}

/// Returns a process with PID 0 when there is no such process.
Process ReadProcess(const char* pid) {
  const std::string stat = ReadProcFile(pid, "stat");
  // After the name, which may hold any character, come the state and the parent.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || stat.size() < name_end + 5) return {};
  const std::size_t parent = name_end + 4;
  // The start time is 18 fields after the parent.
  std::size_t start = parent;
  for (int i = 0; i < 18 && start != std::string::npos; ++i) {
    start = stat.find(' ', start);
    if (start != std::string::npos) ++start;
  }
  return {std::atoi(pid), std::atoi(stat.c_str() + parent),
          start == std::string::npos ? 0 : std::strtoull(stat.c_str() + start, nullptr, 10)};
}

std::vector<Process> AllProcesses() {
  std::vector<Process> found;
  ForEachProcess([&](const char* pid) {
    const Process process = ReadProcess(pid);
    if (process.pid > 0) found.push_back(process);
  });
  return found;
}

/// Returns all descendants of this process that /proc shows now.
std::vector<Process> Descendants() {
  const std::vector<Process> all = AllProcesses();
  std::vector<Process> tree = {{.pid = ::getpid()}};
  for (std::size_t i = 0; i < tree.size(); ++i) {
    for (const Process& process : all) {
      if (process.parent == tree[i].pid) tree.push_back(process);
    }
  }
  tree.erase(tree.begin());
  return tree;
}

/// Signals the process. Its PID may belong to another process by now, which is no descendant. So
/// the owner of the PID is first held by a pidfd, then compared.
void Signal(const Process& process, int number) {
  const UniqueFd held(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!held.valid()) return;
  const Process now = ReadProcess(std::to_string(process.pid).c_str());
  if (now.pid == process.pid && now.start == process.start) {
    ::syscall(SYS_pidfd_send_signal, held.get(), number, nullptr, 0);
  }
}

/// Returns seconds since an unspecified moment.
time_t Now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

/// For a host where kill(-1) cannot be used. Stops all descendants, again and again until a round
/// sees no new one: a stopped process cannot fork. Then kills them. Gives up looking at `deadline`.
void StopAndKill(time_t deadline) {
  std::set<std::pair<pid_t, unsigned long long>> stopped;
  bool is_new = true;
  while (is_new && Now() < deadline) {
    is_new = false;
    for (const Process& process : Descendants()) {
      if (!stopped.emplace(process.pid, process.start).second) continue;
      is_new = true;
      Signal(process, SIGSTOP);
    }
  }
  for (const Process& process : Descendants()) Signal(process, SIGKILL);
}

std::uint64_t Nanoseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_usec) * 1000U;
}

enum class Reaped { kAll, kNone, kSome };

/// Reaps one child that has ended, if any, and adds its usage to `ended`.
Reaped ReapOne(Ended& ended) {
  rusage usage{};
  const pid_t pid = ::wait4(-1, nullptr, WNOHANG, &usage);
  if (pid < 0) return errno == ECHILD ? Reaped::kAll : Reaped::kNone;
  if (pid == 0) return Reaped::kNone;
  ended.user_nanoseconds += Nanoseconds(usage.ru_utime);
  ended.system_nanoseconds += Nanoseconds(usage.ru_stime);
  const auto resident = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024U;
  ended.largest_resident_bytes = std::max(ended.largest_resident_bytes, resident);
  return Reaped::kSome;
}

/// Returns true when no child is left; false when some children do not end soon.
bool ReapAll(Ended& ended) {
  constexpr int kPatience = 20;
  for (int quiet = 0; quiet < kPatience;) {
    const Reaped reaped = ReapOne(ended);
    if (reaped == Reaped::kAll) return true;
    if (reaped == Reaped::kSome) continue;
    const timespec pause = {0, kPause};
    ::nanosleep(&pause, nullptr);
    ++quiet;
  }
  return false;
}

/// Kills in one step, which no fork can escape.
int KillEveryone(int) {
  return ::kill(-1, SIGKILL) == 0 || errno == ESRCH ? 0 : errno;
}

}  // namespace

int AsGuest(unsigned guest_uid, int (*work)(int), int argument) {
  const pid_t pid = ::fork();
  if (pid < 0) return errno;
  if (pid == 0) {
    // A process may signal another if its real or effective uid is the other's real or saved uid.
    // Only the effective uid is the guests' here: this process can signal guests, but they cannot
    // signal this process.
    const unsigned spare = guest_uid - 1;
    const bool became = ::setgroups(0, nullptr) == 0 &&
                        ::setresgid(guest_uid, guest_uid, guest_uid) == 0 &&
                        ::setresuid(spare, guest_uid, spare) == 0;
    ::_exit(became ? work(argument) : errno);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

bool EndTree(const KillAll& how, Ended& ended) {
  // Processes that were about to end have usually ended by now.
  Reaped reaped = ReapOne(ended);
  while (reaped == Reaped::kSome) reaped = ReapOne(ended);
  if (reaped == Reaped::kAll) return true;
  const time_t deadline = Now() + kMostSeconds;
  do {
    if (how.guest_uid != 0) AsGuest(how.guest_uid, KillEveryone, 0);
    if (how.signals_stay_inside) KillEveryone(0);
    StopAndKill(deadline);
    if (ReapAll(ended)) return true;
  } while (Now() < deadline);
  return false;
}

}  // namespace polybox::jail::init
