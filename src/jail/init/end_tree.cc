#include "jail/init/end_tree.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>

namespace polybox::jail::init {
namespace {

constexpr int kMostSeconds = 10;
constexpr long kPause = 100'000;  // nanoseconds between two looks
// Each round stops all that can be seen; a limit on processes makes it converge long before.
constexpr int kMostRounds = 100;

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
};

std::string ReadProcFile(const char* pid, const char* file) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%s/%s", pid, file);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  char text[2048];
  const ssize_t size = ::read(fd, text, sizeof text);
  ::close(fd);
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

std::vector<Process> AllProcesses() {
  std::vector<Process> found;
  ForEachProcess([&](const char* pid) {
    const std::string stat = ReadProcFile(pid, "stat");
    // After the name, which may hold anything: its state, then its parent.
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos || stat.size() < name_end + 5) return;
    const char* parent = stat.c_str() + name_end + 4;
    found.push_back({std::atoi(pid), std::atoi(parent)});
  });
  return found;
}

std::vector<pid_t> Descendants() {
  const std::vector<Process> all = AllProcesses();
  std::vector<pid_t> tree = {::getpid()};
  for (std::size_t i = 0; i < tree.size(); ++i) {
    for (const Process& process : all) {
      if (process.parent == tree[i]) tree.push_back(process.pid);
    }
  }
  tree.erase(tree.begin());
  return tree;
}

/// Stopping all first, because a stopped process still counts against the limit: those who go on
/// forking run into it, and are seen in the next round.
void StopAndKill() {
  std::vector<pid_t> stopped;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<pid_t> found = Descendants();
    bool news = false;
    for (const pid_t pid : found) {
      if (std::find(stopped.begin(), stopped.end(), pid) != stopped.end()) continue;
      news = true;
      ::kill(pid, SIGSTOP);
      stopped.push_back(pid);
    }
    if (!news) break;
  }
  for (const pid_t pid : Descendants()) ::kill(pid, SIGKILL);
}

std::uint64_t Nanoseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_usec) * 1000U;
}

enum class Reaped { kAll, kNone, kSome };

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

/// True when no child is left; false when some do not end by themselves for now.
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

/// In one step that no fork can outrun.
int KillEveryone(int) {
  return ::kill(-1, SIGKILL) == 0 || errno == ESRCH ? 0 : errno;
}

}  // namespace

int AsGuest(unsigned guest_uid, int (*work)(int), int argument) {
  const pid_t pid = ::fork();
  if (pid < 0) return errno;
  if (pid == 0) {
    // Only the effective uid is the guests': they may signal whoever has theirs as the real or the
    // saved one, and kill(-1) reaches whoever has one of ours.
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

bool EndTree(unsigned guest_uid, Ended& ended) {
  // Who was about to end is usually gone at once.
  Reaped reaped = ReapOne(ended);
  while (reaped == Reaped::kSome) reaped = ReapOne(ended);
  if (reaped == Reaped::kAll) return true;
  timespec begin{};
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    if (guest_uid != 0) AsGuest(guest_uid, KillEveryone, 0);
    StopAndKill();
    if (ReapAll(ended)) return true;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
  } while (now.tv_sec - begin.tv_sec < kMostSeconds);
  return false;
}

}  // namespace polybox::jail::init
