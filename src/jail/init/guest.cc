#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sched.h>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "jail/init/raw.h"
#include "jail/init/raw_messages.h"
#include "jail/init/run_view.h"
#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

int ErrorOf(long result) {
  return result < 0 ? static_cast<int>(-result) : 0;
}

/// Without capabilities, but for those of `kept` (of the first 32).
int SetCapabilities(std::uint32_t kept) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{kept, kept, kept}, {}};
  return ErrorOf(Raw(SYS_capset, &header, data));
}

/// Of all capabilities the one to read and enter what its uid may not: what that reaches is
/// Landlock's business.
int KeepReading() {
  if (const int error = SetCapabilities(1U << CAP_DAC_READ_SEARCH)) return error;
  return ErrorOf(Raw(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0));
}

int BecomeGuest(const PodOptions& options) {
  const auto [uid, gid] = guest_ids;
  // Where the guest's uid is the only one there is, these change nothing and are refused without
  // harm.
  if (Raw(SYS_getuid) != uid) {
    if (options.closed_trees) {
      // Without it access(2), which gcc asks, would answer as if there were no capability.
      Raw(SYS_prctl, PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED);
      Raw(SYS_prctl, PR_SET_KEEPCAPS, 1);
    }
    if (const int error = ErrorOf(Raw(SYS_setgroups, 0, nullptr))) return error;
    if (const int error = ErrorOf(Raw(SYS_setresgid, gid, gid, gid))) return error;
    if (const int error = ErrorOf(Raw(SYS_setresuid, uid, uid, uid))) return error;
  }
  if (const int error = options.closed_trees ? KeepReading() : SetCapabilities(0)) return error;
  // A change of identity has cleared it; in a PID namespace the pod's end is enough.
  if (!options.in_namespaces) Raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  return ErrorOf(Raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

void CloseFrom(int first) {
  Raw(SYS_close_range, first, ~0U, 0);
}

/// Where the next run's message is read: one guest waits at a time. Pages of their own.
constexpr std::size_t kPage = 4096;
alignas(kPage) RunRoom room;
/// How much of it was.
std::size_t taken = 0;

/// Between a request and its program, on the request's time; returns only on failure. The filter is
/// in place: every call here must be one that guests may make.
Failed BecomeProgram(std::size_t size, std::span<const int> streams) {
  RunView run;
  if (!ReadInPlace(room, size, run)) return {Stage::kMessage, EBADMSG, -1};
  const StepResult placed = TakePlace(run.directory, run.limits, streams);
  return placed.ok ? Execute(run.argv, run.env) : placed.failed;
}

void AwaitRun(int socket) {
  int streams[3];
  taken = ReceiveRaw(socket, room.bytes, streams);
  if (taken > 0) SendRaw(socket, Encode(BecomeProgram(taken, streams)));
}

/// The interpreter takes its program itself: see warm/warm.h. Returns on failure, of which the
/// server learns by an end without a start.
void StartAhead(const WarmCommand& warm, int socket, const WarmFds& fds) {
  // They are all that it gets of us, at the places where it looks for them.
  if (Raw(SYS_dup3, fds.started, kWarmStarted, 0) < 0 ||
      Raw(SYS_dup3, fds.word, kWarmWord, 0) < 0 || Raw(SYS_dup3, socket, kWarmSocket, 0) < 0) {
    return;
  }
  // Not where the program will be: what is not there yet must not be looked for and remembered.
  if (Raw(SYS_chdir, "/") < 0) return;
  Raw(SYS_close_range, 3, kWarmWord - 1, 0);
  CloseFrom(kWarmStarted + 1);
  if (SetLimits(warm.limits).ok) Execute(warm.argv.data(), warm.env.data());
}

}  // namespace

StepResult GiveUpRights(const PodOptions& options) {
  constexpr int kUsualMask = 022;
  Raw(SYS_setsid);
  Raw(SYS_umask, kUsualMask);
  for (std::uint32_t i = 0; i < options.next.join_count; ++i) {
    if (const int error = ErrorOf(Raw(SYS_write, options.cgroups[i], "0", 1))) {
      return StepResult::Failure(Stage::kCgroup, error, static_cast<int>(i));
    }
  }
  // From here on its cgroups are the root of what it sees of them.
  if (options.in_namespaces) {
    if (const int error = ErrorOf(Raw(SYS_unshare, CLONE_NEWCGROUP))) {
      return StepResult::Failure(Stage::kCgroup, error);
    }
  }
  if (const int error = BecomeGuest(options)) return StepResult::Failure(Stage::kDrop, error);
  if (options.ruleset >= 0) {
    if (const int error = ErrorOf(Raw(SYS_landlock_restrict_self, options.ruleset, 0))) {
      return StepResult::Failure(Stage::kLandlock, error);
    }
  }
  return {};
}

StepResult InstallFilter(const std::string& seccomp) {
  const sock_fprog program = {
      static_cast<unsigned short>(seccomp.size() / sizeof(sock_filter)),
      reinterpret_cast<sock_filter*>(const_cast<char*>(seccomp.data())),
  };
  if (program.len == 0) return {};
  // An interpreter that has started ahead has threads.
  const long refused =
      Raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  if (refused == 0) return {};
  return StepResult::Failure(Stage::kSeccomp, refused < 0 ? ErrorOf(refused) : ESRCH);
}

StepResult SetLimits(std::span<const ResourceLimit> limits) {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const rlimit64 limit = {limits[i].value, limits[i].value};
    if (const int error = ErrorOf(Raw(SYS_setrlimit, limits[i].resource, &limit))) {
      return StepResult::Failure(Stage::kLimits, error, static_cast<int>(i));
    }
  }
  return {};
}

StepResult TakePlace(const char* directory, std::span<const ResourceLimit> limits,
                     std::span<const int> streams) {
  constexpr int kStreams = 3;
  if (streams.size() != kStreams) return StepResult::Failure(Stage::kMessage, EBADMSG);
  for (int i = 0; i < kStreams; ++i) {
    if (const int error = ErrorOf(Raw(SYS_dup3, streams[static_cast<std::size_t>(i)], i, 0))) {
      return StepResult::Failure(Stage::kStdio, error, i);
    }
  }
  if (const int error = ErrorOf(Raw(SYS_chdir, directory))) {
    return StepResult::Failure(Stage::kDirectory, error);
  }
  // Its group is it alone, with the threads that an interpreter may have by now.
  constexpr int kLast = 19;
  Raw(SYS_setpriority, PRIO_PGRP, 0, kLast);
  return SetLimits(limits);
}

Failed Execute(char* const* argv, char* const* env) {
  return {Stage::kExec, ErrorOf(Raw(SYS_execve, argv[0], argv, env)), -1};
}

void WaitAsGuest(int socket, const PodOptions& options, const WarmFds& fds) {
  StepResult prepared = GiveUpRights(options);
  // Not of the slot init's stack, which goes on when it has heard from us.
  const WarmCommand* ahead = options.warm;
  if (prepared.ok && ahead == nullptr) {
    // Only the socket is left, which an exec closes.
    CloseFrom(socket + 1);
    prepared = InstallFilter(options.seccomp);
  }
  SendRaw(socket, prepared.ok ? Encode(MessageKind::kDone) : Encode(prepared.failed));
  constexpr int kNeverStarted = 127;
  if (!prepared.ok) RawExit(kNeverStarted);
  if (ahead != nullptr) {
    StartAhead(*ahead, socket, fds);
  } else {
    AwaitRun(socket);
  }
  RawExit(kNeverStarted);
}

void ForgetRun() {
  constexpr std::size_t kSmall = 16 * 1024;
  if (taken > kSmall) ::madvise(&room, sizeof room, MADV_DONTNEED);
  taken = 0;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace polybox::jail::init
