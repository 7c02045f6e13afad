#include "jail/init/guest.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sched.h>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "jail/init/cell_options.h"
#include "jail/init/ids.h"
#include "jail/init/raw.h"
#include "jail/init/step_result.h"

namespace polybox::jail::init {
namespace {

int ErrorOf(long result) {
  return result < 0 ? static_cast<int>(-result) : 0;
}

/// Removes all capabilities except those of `kept` (a mask of the first 32).
int SetCapabilities(std::uint32_t kept) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{kept, kept, kept}, {}};
  return ErrorOf(Raw(SYS_capset, &header, data));
}

/// Keeps one capability: to read files and enter directories that the uid may not. Landlock bounds
/// what can be reached with it.
int KeepReading() {
  if (const int error = SetCapabilities(1U << CAP_DAC_READ_SEARCH)) return error;
  return ErrorOf(Raw(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0));
}

int BecomeGuest(const CellOptions& options) {
  const auto [uid, gid] = GuestIds();
  // Where guests and the slot init have the same uid, these calls would change nothing, and are
  // refused without harm.
  if (!SharesUsers()) {
    if (options.closed_trees) {
      // Without this, access(2), which gcc calls, would answer as if the capability did not exist.
      Raw(SYS_prctl, PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED);
      Raw(SYS_prctl, PR_SET_KEEPCAPS, 1);
    }
    if (const int error = ErrorOf(Raw(SYS_setgroups, 0, nullptr))) return error;
    if (const int error = ErrorOf(Raw(SYS_setresgid, gid, gid, gid))) return error;
    if (const int error = ErrorOf(Raw(SYS_setresuid, uid, uid, uid))) return error;
  }
  if (const int error = options.closed_trees ? KeepReading() : SetCapabilities(0)) return error;
  // The change of uid has cleared the parent-death signal. In a PID namespace the end of the cell
  // kills the guest anyway.
  if (!options.in_namespaces) Raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  return ErrorOf(Raw(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

/// Joins the cgroup whose directory is open at `directory`.
int JoinCgroup(int directory) {
  const long file = Raw(SYS_openat, directory, "cgroup.procs", O_WRONLY | O_CLOEXEC, 0);
  if (file < 0) return ErrorOf(file);
  const long written = Raw(SYS_write, file, "0", 1);
  Raw(SYS_close, file);
  return ErrorOf(written);
}

StepResult JoinCgroups(const CellOptions& options) {
  const std::uint32_t count = options.next.join_count;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (const int error = ErrorOf(Raw(SYS_write, options.cgroups[i], "0", 1))) {
      return StepResult::Failure(Stage::kCgroup, error, static_cast<int>(i));
    }
  }
  // Only clone3 can make a process inside a cgroup.
  if (options.next.clone_into && !HasClone3()) {
    if (const int error = JoinCgroup(options.cgroups[count])) {
      return StepResult::Failure(Stage::kCgroup, error, static_cast<int>(count));
    }
  }
  return {};
}

}  // namespace

StepResult GiveUpRights(const CellOptions& options) {
  constexpr int kUsualMask = 022;
  Raw(SYS_setsid);
  Raw(SYS_umask, kUsualMask);
  const StepResult joined = JoinCgroups(options);
  if (!joined.ok) return joined;
  // The guest's cgroups are the root of its cgroup namespace from here on.
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

StepResult InstallFilter(const std::string& filter) {
  const sock_fprog program = {
      static_cast<unsigned short>(filter.size() / sizeof(sock_filter)),
      reinterpret_cast<sock_filter*>(const_cast<char*>(filter.data())),
  };
  if (program.len == 0) return {};
  // TSYNC, because an interpreter that has started ahead has threads.
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
  // The process group holds only this process, with the threads that an interpreter may have by
  // now.
  constexpr int kLast = 19;
  Raw(SYS_setpriority, PRIO_PGRP, 0, kLast);
  return SetLimits(limits);
}

Failed Execute(char* const* argv, char* const* env) {
  return {Stage::kExec, ErrorOf(Raw(SYS_execve, argv[0], argv, env)), -1};
}

}  // namespace polybox::jail::init
