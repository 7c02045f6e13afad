#include "jail/guest_process.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <poll.h>
#include <sched.h>
#include <string>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/syscall.h>

#include "base/files.h"
#include "jail/init/protocol.h"

namespace polybox::jail {

std::uint64_t PrivateBytes(pid_t pid) {
  if (pid <= 0) return 0;
  const std::string text = ReadFile(fmt::format("/proc/{}/statm", pid)).value_or("");
  std::uint64_t pages[3] = {};
  std::size_t at = 0;
  for (std::uint64_t& count : pages) {
    count = std::strtoull(text.c_str() + at, nullptr, 10);
    at = std::min(text.size(), text.find(' ', at + 1));
  }
  const auto [size, resident, shared] = pages;
  return (resident - std::min(resident, shared)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

Status KeepOnOneCpu(pid_t pid) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(::sched_getcpu()), &set);
  if (::sched_setaffinity(pid, sizeof set, &set) != 0) {
    return Error::FromErrno("keep the guest on one processor");
  }
  std::error_code ignored;  // a thread that has ended needs nothing
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), ignored)) {
    ::sched_setaffinity(std::atoi(task.path().filename().c_str()), sizeof set, &set);
  }
  return {};
}

void KillAllButInit(int cell) {
  // Long enough even for a busy machine. The kill that follows does not depend on the result.
  constexpr int kMostMilliseconds = 500;
  ::syscall(SYS_pidfd_send_signal, cell, init::kKillAll, nullptr, 0);
  pollfd ended = {cell, POLLIN, 0};
  ::poll(&ended, 1, kMostMilliseconds);
}

}  // namespace polybox::jail
