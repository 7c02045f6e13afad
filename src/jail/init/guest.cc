#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

int ClearCapabilitySets() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  return ::syscall(SYS_capset, &header, data) == 0 ? 0 : errno;
}

/// Of all capabilities the one to read and enter what its uid may not: what that reaches is
/// Landlock's business.
int KeepReading() {
  constexpr std::uint32_t kBit = 1U << CAP_DAC_READ_SEARCH;
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{kBit, kBit, kBit}, {}};
  if (::syscall(SYS_capset, &header, data) != 0) return errno;
  return ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0) == 0 ? 0 : errno;
}

int BecomeGuest(const PodOptions& options) {
  const auto [uid, gid] = guest_ids;
  // Where the guest's uid is the only one there is, these change nothing and are refused without
  // harm.
  if (::getuid() != uid) {
    if (options.closed_trees) {
      // Without it access(2), which gcc asks, would answer as if there were no capability.
      ::prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED);
      ::prctl(PR_SET_KEEPCAPS, 1);
    }
    if (::setgroups(0, nullptr) != 0) return errno;
    if (::setresgid(gid, gid, gid) != 0) return errno;
    if (::setresuid(uid, uid, uid) != 0) return errno;
  }
  if (const int error = options.closed_trees ? KeepReading() : ClearCapabilitySets()) return error;
  // A change of identity has cleared it; in a PID namespace the pod's end is enough.
  if (!options.in_namespaces) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno;
}

/// What `strings` points to must outlive it.
std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Between a request and its program, on the request's time; returns only on failure. The filter is
/// in place: every call here must be one that guests may make.
Failed BecomeProgram(const Received& received) {
  Run run;
  if (!Decode(received.bytes, run)) return {Stage::kMessage, EBADMSG, -1};
  const StepResult placed = TakePlace(run, received.fds);
  return placed.ok ? Execute(run.argv, run.env) : placed.failed;
}

/// The interpreter takes its program itself: see warm/warm.h. Returns on failure, of which the
/// server learns by an end without a start.
void StartAhead(const WarmStart& warm, int socket, const WarmFds& fds) {
  // They are all that it gets of us, at the places where it looks for them.
  if (::dup2(fds.started, kWarmStarted) < 0 || ::dup2(fds.word, kWarmWord) < 0 ||
      ::dup2(socket, kWarmSocket) < 0) {
    return;
  }
  // Not where the program will be: what is not there yet must not be looked for and remembered.
  if (::chdir("/") != 0) return;
  ::syscall(SYS_close_range, STDERR_FILENO + 1U, kWarmWord - 1U, 0U);
  ::syscall(SYS_close_range, kWarmStarted + 1U, ~0U, 0U);
  if (SetLimits(warm.limits).ok) Execute(warm.argv, WarmEnvironment(warm));
}

}  // namespace

StepResult GiveUpRights(const PodOptions& options) {
  const auto fail = [](Stage stage, int index = -1) {
    return StepResult::Failure(stage, errno, index);
  };
  ::setsid();
  ::umask(022);
  for (std::uint32_t i = 0; i < options.next.join_count; ++i) {
    if (::write(options.cgroups[i], "0", 1) != 1) return fail(Stage::kCgroup, static_cast<int>(i));
  }
  // From here on its cgroups are the root of what it sees of them.
  if (options.in_namespaces && ::unshare(CLONE_NEWCGROUP) != 0) return fail(Stage::kCgroup);
  if (const int error = BecomeGuest(options)) return StepResult::Failure(Stage::kDrop, error);
  if (options.ruleset >= 0 && ::syscall(SYS_landlock_restrict_self, options.ruleset, 0) != 0) {
    return fail(Stage::kLandlock);
  }
  return {};
}

StepResult InstallFilter(const std::string& seccomp) {
  sock_fprog program = {
      static_cast<unsigned short>(seccomp.size() / sizeof(sock_filter)),
      reinterpret_cast<sock_filter*>(const_cast<char*>(seccomp.data())),
  };
  if (program.len == 0) return {};
  // An interpreter that has started ahead has threads.
  const long refused =
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  if (refused == 0) return {};
  return StepResult::Failure(Stage::kSeccomp, refused < 0 ? errno : ESRCH);
}

StepResult SetLimits(const std::vector<ResourceLimit>& limits) {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const rlimit64 limit = {limits[i].value, limits[i].value};
    if (::syscall(SYS_setrlimit, limits[i].resource, &limit) != 0) {
      return StepResult::Failure(Stage::kLimits, errno, static_cast<int>(i));
    }
  }
  return {};
}

StepResult TakePlace(const Run& run, const std::vector<int>& streams) {
  if (streams.size() != 3) return StepResult::Failure(Stage::kMessage, EBADMSG);
  for (int i = 0; i < 3; ++i) {
    if (::dup2(streams[static_cast<std::size_t>(i)], i) < 0) {
      return StepResult::Failure(Stage::kStdio, errno, i);
    }
  }
  if (::chdir(run.directory.c_str()) != 0) return StepResult::Failure(Stage::kDirectory, errno);
  // Its group is it alone, with the threads that an interpreter may have by now.
  ::setpriority(PRIO_PGRP, 0, 19);
  return SetLimits(run.limits);
}

Failed Execute(const std::vector<std::string>& argv, const std::vector<std::string>& env) {
  ::execve(argv[0].c_str(), Pointers(argv).data(), Pointers(env).data());
  return {Stage::kExec, errno, -1};
}

std::vector<std::string> WarmEnvironment(const WarmStart& warm) {
  std::vector<std::string> env = warm.env;
  env.push_back(std::string("LD_PRELOAD=") + kWarmLibrary);
  const std::string kind = warm.kind == WarmKind::kZygote ? "zygote " : "prestart ";
  env.push_back(kWarmVariable + ("=" + kind) + warm.entry);
  return env;
}

void WaitAsGuest(int socket, const PodOptions& options, const WarmFds& fds) {
  StepResult prepared = GiveUpRights(options);
  const bool ahead = options.warm != nullptr;
  if (prepared.ok && !ahead) {
    // Only the socket is left, which an exec closes.
    ::syscall(SYS_close_range, socket + 1U, ~0U, 0U);
    prepared = InstallFilter(options.seccomp);
  }
  Send(socket, prepared.ok ? Encode(MessageKind::kDone) : Encode(prepared.failed));
  if (prepared.ok && ahead) StartAhead(*options.warm, socket, fds);
  Received received;
  if (prepared.ok && !ahead && Receive(socket, received))
    Send(socket, Encode(BecomeProgram(received)));
  ::_exit(127);
}

}  // namespace polybox::jail::init
