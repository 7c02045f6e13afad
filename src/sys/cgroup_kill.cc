// Kills the processes of a cgroup one by one, on kernels and hierarchies without cgroup.kill.
#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <sys/syscall.h>

#include "base/files.h"
#include "base/unique_fd.h"
#include "sys/cgroup_slot.h"

namespace polybox::sys {
namespace {

/// How many processes are looked at together. Each needs a descriptor of the server meanwhile.
constexpr std::size_t kAtOnce = 64;

/// Returns the PIDs of all processes in the cgroup.
Result<std::vector<pid_t>> Members(const CgroupDirectory& directory) {
  const UniqueFd file(::openat(directory.fd(), "cgroup.procs", O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return Error::FromErrno("open cgroup.procs of " + directory.path());
  POLYBOX_ASSIGN_OR_RETURN(const std::string text, ReadAll(file.get(), Bytes::MiB(4)));
  std::vector<pid_t> pids;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    // The kernel shows a process of another PID namespace as 0.
    const auto pid = ParseCgroupNumber(line);
    if (pid && *pid > 0) pids.push_back(static_cast<pid_t>(*pid));
  }
  return pids;
}

/// Sends SIGKILL to those of `pids` that are in the cgroup. Another process can have got one of the
/// PIDs since they were read. So each process is first held by a pidfd, and the cgroup is read
/// again. A PID that is still in it then belongs to the held process, or the held process has
/// ended.
Status KillSome(const CgroupDirectory& directory, std::vector<pid_t> pids) {
  std::vector<UniqueFd> held;
  held.reserve(pids.size());
  for (const pid_t pid : pids) {
    held.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  }
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<pid_t> members, Members(directory));
  for (std::size_t i = 0; i < pids.size(); ++i) {
    if (!held[i].valid() || std::ranges::find(members, pids[i]) == members.end()) continue;
    ::syscall(SYS_pidfd_send_signal, held[i].get(), SIGKILL, nullptr, 0);
  }
  return {};
}

}  // namespace

Result<bool> KillMembers(const CgroupDirectory& directory) {
  POLYBOX_ASSIGN_OR_RETURN(const auto most, ControlFile::Open(directory, "pids.max", O_WRONLY));
  POLYBOX_RETURN_IF_ERROR(most.Write("0"));
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<pid_t> members, Members(directory));
  for (auto next = members.begin(); next != members.end();) {
    const auto end = next + std::min<std::ptrdiff_t>(members.end() - next, kAtOnce);
    POLYBOX_RETURN_IF_ERROR(KillSome(directory, {next, end}));
    next = end;
  }
  return members.empty();
}

}  // namespace polybox::sys
