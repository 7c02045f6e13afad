#include "jail/start_init.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <string>
#include <unistd.h>
#include <utility>

#include <sys/socket.h>
#include <sys/wait.h>

#include "base/scope_exit.h"
#include "jail/init_image.h"

namespace polybox::jail {
namespace {

/// Starts the slot init with `socket` as descriptor 3. Unless `cgroup` is -1, it becomes descriptor
/// 5: the cgroup in which the slot init starts over.
Result<pid_t> Spawn(Grade grade, int socket, int cgroup) {
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd image, InitExecutable());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const ScopeExit destroy([&] { posix_spawn_file_actions_destroy(&actions); });
  // The copies have numbers above the final ones, so that neither overwrites the other.
  const UniqueFd high_socket(::fcntl(socket, F_DUPFD_CLOEXEC, 10));
  const UniqueFd high_image(::fcntl(image.get(), F_DUPFD_CLOEXEC, 10));
  posix_spawn_file_actions_adddup2(&actions, high_socket.get(), 3);
  posix_spawn_file_actions_adddup2(&actions, high_image.get(), 4);
  const UniqueFd high_cgroup(cgroup < 0 ? -1 : ::fcntl(cgroup, F_DUPFD_CLOEXEC, 10));
  if (cgroup >= 0) posix_spawn_file_actions_adddup2(&actions, high_cgroup.get(), 5);
  // No other descriptor is inherited, not even one that the server itself inherited without
  // close-on-exec.
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0);
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, cgroup < 0 ? 5 : 6);
  // Guests must not inherit the signals that the server blocks (to read them from a descriptor,
  // say).
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const ScopeExit destroy_attributes([&] { posix_spawnattr_destroy(&attributes); });
  sigset_t no_signals;
  ::sigemptyset(&no_signals);
  posix_spawnattr_setsigmask(&attributes, &no_signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::string name = "polybox-slot";
  std::string argument = "without-namespaces";
  char* second = HasNamespaces(grade) ? nullptr : argument.data();
  std::array<char*, 3> argv = {name.data(), second, nullptr};
  std::array<char*, 1> env = {nullptr};
  pid_t pid = -1;
  const std::string path = "/proc/self/fd/4";
  const int failed =
      ::posix_spawn(&pid, path.c_str(), &actions, &attributes, argv.data(), env.data());
  if (failed != 0) return Error::FromErrno("start the slot init", failed);
  return pid;
}

/// Waits for the process `first` to end, which has started the slot init again in its cgroup.
/// Returns the PID of the new slot init.
Result<pid_t> AwaitNewStart(pid_t first, const sys::SlotCgroup& cgroup) {
  int status = 0;
  while (::waitpid(first, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) return cgroup.Starter();
  const int error = WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
  return Error::FromErrno("start the slot init in its cgroup", error);
}

}  // namespace

Result<StartedInit> StartInit(Grade grade, const sys::SlotCgroup* cgroup) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error::FromErrno("make a socket for the slot init");
  }
  UniqueFd ours(ends[0]);
  // Far longer than any answer takes, even after two interpreters that do not start. A caller that
  // waits in vain gives the slot up.
  constexpr timeval kMost = {120, 0};
  ::setsockopt(ours.get(), SOL_SOCKET, SO_RCVTIMEO, &kMost, sizeof kMost);
  const UniqueFd theirs(ends[1]);
  const int start_in = cgroup != nullptr ? cgroup->StarterFd() : -1;
  POLYBOX_ASSIGN_OR_RETURN(pid_t pid, Spawn(grade, theirs.get(), start_in));
  if (start_in >= 0) {
    POLYBOX_ASSIGN_OR_RETURN(pid, AwaitNewStart(pid, *cgroup));
  }
  return StartedInit{pid, std::move(ours)};
}

}  // namespace polybox::jail
