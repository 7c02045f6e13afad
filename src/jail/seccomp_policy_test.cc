// What must hold for the policy file, and for a guest under it.
#include "jail/seccomp_policy.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <sched.h>
#include <seccomp.h>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "sys/testing/filtered_child.h"

namespace polybox::jail {
namespace {

using sys::SeccompAction;
using sys::SeccompRule;
using sys::SeccompVerdict;
using sys::testing::ErrnoOf;
using sys::testing::FailsWith;
using sys::testing::Fate;
using sys::testing::kKilled;
using sys::testing::RunFiltered;

constexpr long kHighBits = 0x7fff'ffff'0000'0000;

const sys::SeccompRules& Rules() {
  static const Result<sys::SeccompRules> rules = BuiltinSeccompRules();
  if (!rules.ok()) {
    ADD_FAILURE() << rules.error().message();
    std::abort();
  }
  return *rules;
}

template <typename Code>
Fate RunAsGuest(Code code) {
  static const Result<sys::SeccompProgram> program = sys::CompileSeccomp(Rules());
  if (!program.ok()) {
    ADD_FAILURE() << program.error().message();
    std::abort();
  }
  return RunFiltered(&program.value(), code);
}

template <typename... Args>
Fate Call(long number, Args... arguments) {
  return RunAsGuest([=] { return ErrnoOf(number, arguments...); });
}

const SeccompRule* Find(std::string_view syscall) {
  const auto at = std::ranges::find(Rules().rules, syscall, &SeccompRule::syscall);
  return at == Rules().rules.end() ? nullptr : &*at;
}

/// Negative when this architecture does not have the call.
int NumberOf(const SeccompRule& rule) {
  const int known = ::seccomp_syscall_resolve_name(rule.syscall.c_str());
  return known == __NR_SCMP_ERROR ? rule.number.value_or(-1) : known;
}

/// -1 is no pointer, descriptor or flags: what is let through by mistake fails and does nothing.
Fate CallWithNonsense(int number) {
  return Call(number, -1L, -1L, -1L, -1L, -1L, -1L);
}

constexpr const char* kKilledCalls[] = {
    "bpf",
    "userfaultfd",
    "perf_event_open",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "mount",
    "umount",
    "umount2",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "move_mount",
    "open_tree",
    "open_tree_attr",
    "mount_setattr",
    "unshare",
    "setns",
    "pivot_root",
    "chroot",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "kcmp",
    "process_madvise",
    "pidfd_getfd",
    "keyctl",
    "add_key",
    "request_key",
    "clock_settime",
    "clock_adjtime",
    "settimeofday",
    "adjtimex",
    "acct",
    "quotactl",
    "quotactl_fd",
    "swapon",
    "swapoff",
    "syslog",
    "personality",
    "move_pages",
    "migrate_pages",
    "memfd_secret",
    "set_mempolicy_home_node",
    "open_by_handle_at",
    "name_to_handle_at",
    "fanotify_init",
    "fanotify_mark",
    "lsm_set_self_attr",
    "seccomp",
    "landlock_create_ruleset",
    "landlock_add_rule",
    "landlock_restrict_self",
    "ioperm",
    "iopl",
    "ustat",
    "sysfs",
    "uselib",
    "modify_ldt",
};

TEST(SeccompPolicy, KillsWhatTheRunDialectKills) {
  for (const char* name : kKilledCalls) {
    const SeccompRule* rule = Find(name);
    ASSERT_NE(rule, nullptr) << name;
    EXPECT_EQ(rule->verdict, (SeccompVerdict{SeccompAction::kKill, 0})) << name;
    EXPECT_TRUE(rule->cases.empty()) << name;
    const int number = NumberOf(*rule);
    if (number < 0) continue;
    EXPECT_EQ(CallWithNonsense(number), kKilled) << name;
  }
}

TEST(SeccompPolicy, AnswersWithAnErrnoWhereRuntimesTryTheirLuck) {
  const struct {
    int error;
    std::vector<const char*> calls;
  } rows[] = {
      {ENOSYS,
       {"io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "io_setup", "io_destroy",
        "io_submit", "io_getevents", "io_cancel", "io_pgetevents", "statmount", "listmount",
        "lsm_get_self_attr", "lsm_list_modules", "cachestat"}},
      {EPERM,
       {"mbind", "get_mempolicy", "set_mempolicy", "sched_setaffinity", "sched_setattr", "sync",
        "syncfs", "sethostname", "setdomainname"}},
  };
  for (const auto& row : rows) {
    for (const char* name : row.calls) {
      const SeccompRule* rule = Find(name);
      ASSERT_NE(rule, nullptr) << name;
      EXPECT_EQ(rule->verdict, (SeccompVerdict{SeccompAction::kErrno, row.error})) << name;
      EXPECT_EQ(CallWithNonsense(NumberOf(*rule)), FailsWith(row.error)) << name;
    }
  }
}

TEST(SeccompPolicy, UnknownAndFutureCallsDoNotExist) {
  EXPECT_EQ(Rules().otherwise, (SeccompVerdict{SeccompAction::kErrno, ENOSYS}));
  for (const long number : {999L, 470L, 600L, -1L}) {
    EXPECT_EQ(Call(number), FailsWith(ENOSYS)) << number;
  }
}

TEST(SeccompPolicy, OnlyThreeSocketFamiliesAndOneKindOfPairAreThere) {
  for (const long high : {0L, kHighBits, 1L << 32}) {
    for (long family = 0; family < AF_MAX; ++family) {
      const bool allowed = family == AF_UNIX || family == AF_INET || family == AF_INET6;
      const int refusal = family == AF_NETLINK ? EAFNOSUPPORT : EPERM;
      EXPECT_EQ(Call(SYS_socket, high | family, SOCK_DGRAM, 0), FailsWith(allowed ? 0 : refusal))
          << family;
    }
    for (const long family : {AF_UNIX, AF_INET, AF_TIPC}) {
      const Fate fate = RunAsGuest([=] {
        int pair[2];
        return ErrnoOf(SYS_socketpair, high | family, SOCK_STREAM, 0, pair);
      });
      EXPECT_EQ(fate, FailsWith(family == AF_UNIX ? 0 : EPERM)) << family;
    }
  }
}

TEST(SeccompPolicy, EveryNamespaceFlagOfCloneKills) {
  for (const long flag : {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER,
                          CLONE_NEWPID, CLONE_NEWNET}) {
    for (const long high : {0L, kHighBits}) {
      EXPECT_EQ(Call(SYS_clone, high | flag | SIGCHLD, 0L, 0L, 0L, 0L), kKilled) << flag;
    }
  }
}

TEST(SeccompPolicy, ThreadsAndForkWork) {
  const Fate fate = RunAsGuest([] {
    int value = 1;
    std::thread([&] { value = 0; }).join();
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(0);
    int status = 1;
    return ::waitpid(pid, &status, 0) == pid && status == 0 ? value : 2;
  });
  EXPECT_EQ(fate, FailsWith(0));
}

TEST(SeccompPolicy, PrctlCannotChangeWhatTheJailReliesOn) {
  for (const long high : {0L, kHighBits}) {
    EXPECT_EQ(Call(SYS_prctl, high | PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 0L, 0L, 0L),
              FailsWith(EPERM));
    EXPECT_EQ(Call(SYS_prctl, high | PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0L, 0L, 0L),
              FailsWith(EPERM));
  }
  for (const long option :
       {PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_MM, PR_SET_KEEPCAPS, PR_SET_SECUREBITS,
        PR_SET_SPECULATION_CTRL, PR_CAP_AMBIENT, PR_SET_SYSCALL_USER_DISPATCH, PR_SCHED_CORE}) {
    EXPECT_EQ(Call(SYS_prctl, option, 0L, 0L, 0L, 0L), FailsWith(EPERM)) << option;
  }
  EXPECT_EQ(Call(SYS_prctl, PR_SET_TSC, 1L, 0L, 0L, 0L), FailsWith(EINVAL));
}

TEST(SeccompPolicy, PrctlDoesWhatRuntimesNeed) {
  EXPECT_EQ(Call(SYS_prctl, PR_SET_NAME, "guest"), FailsWith(0));
  EXPECT_EQ(Call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0L, 0L, 0L), FailsWith(0));
  EXPECT_EQ(Call(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L), FailsWith(0));
  EXPECT_EQ(Call(SYS_prctl, PR_GET_DUMPABLE, 0L, 0L, 0L, 0L), FailsWith(0));
}

TEST(SeccompPolicy, TerminalsCannotBeTypedInto) {
  for (const long high : {0L, kHighBits}) {
    for (const long request : {TIOCSTI, TIOCLINUX, TIOCSETD}) {
      EXPECT_EQ(Call(SYS_ioctl, -1L, high | request, 0L), FailsWith(EPERM)) << request;
    }
    EXPECT_EQ(Call(SYS_ioctl, -1L, high | TIOCGWINSZ, 0L), FailsWith(EBADF));
  }
}

TEST(SeccompPolicy, HugeAndMergedPagesAreNotThere) {
  constexpr long kPlain = MAP_PRIVATE | MAP_ANONYMOUS;
  constexpr long kSize = 2 << 20;
  EXPECT_EQ(Call(SYS_mmap, 0L, kSize, PROT_READ, kPlain, -1L, 0L), FailsWith(0));
  EXPECT_EQ(Call(SYS_mmap, 0L, kSize, PROT_READ, kPlain | MAP_HUGETLB, -1L, 0L), FailsWith(ENOMEM));
  EXPECT_EQ(Call(SYS_memfd_create, "x", 0L), FailsWith(0));
  EXPECT_EQ(Call(SYS_memfd_create, "x", static_cast<long>(MFD_HUGETLB)), FailsWith(ENOMEM));
  EXPECT_EQ(Call(SYS_madvise, 0L, 0L, MADV_MERGEABLE), FailsWith(EINVAL));
  EXPECT_EQ(Call(SYS_madvise, 0L, 0L, MADV_NORMAL), FailsWith(0));
}

#if defined(__x86_64__)
TEST(SeccompPolicy, OtherAbisAreKilled) {
  EXPECT_EQ(Call(0x40000000L | SYS_getpid), kKilled);
  EXPECT_EQ(Call(0x40000000L | SYS_socket, AF_UNIX, SOCK_STREAM, 0), kKilled);
}
#endif

TEST(SeccompPolicy, NoCallIsNamedTwice) {
  std::vector<std::string> names;
  for (const SeccompRule& rule : Rules().rules) names.push_back(rule.syscall);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(SeccompPolicy, MistakesAreNamedWithFileAndLine) {
  const std::string good =
      "otherwise = \"ENOSYS\"\n[[group]]\nname = \"a\"\nreason = \"b\"\naction = \"allow\"\n"
      "calls = [\"read\"]\n";
  ASSERT_TRUE(ParseSeccompPolicy(good, "p.toml").ok());
  const std::string group = "[[group]]\nname = \"g\"\n";
  const std::string start = "[[group.case]]\nreason = \"c\"\naction = \"kill\"\nargument = ";
  const std::pair<std::string, const char*> rows[] = {
      {"colour = 1\n" + good, "p.toml:1: unknown key \"colour\""},
      {good + "aktion = \"kill\"\n", "p.toml:7: unknown key \"group.aktion\""},
      {good + group + "action = \"kill\"\ncalls = [\"write\"]\n", "group.reason"},
      {good + group + "reason = \"\"\naction = \"kill\"\ncalls = [\"write\"]\n", "some text"},
      {good + group + "reason = \"r\"\naction = \"EPERMM\"\ncalls = [\"write\"]\n", "errno"},
      {good + group + "reason = \"r\"\naction = \"kill\"\ncalls = [\"read\"]\n",
       "read is in group \"a\" already"},
      {good + group + "reason = \"r\"\naction = \"kill\"\ncalls = []\n", "at least one"},
      {good + start + "6\ncompare = \"equals\"\nvalues = [{name=\"x\", value=1}]\n", "0 to 5"},
      {good + start + "0\ncompare = \"below\"\nvalues = [{name=\"x\", value=1}]\n", "equals"},
      {good + start + "0\ncompare = \"equals\"\n", "expected at least one"},
      {good + start + "0\ncompare = \"equals\"\nvalues = [{name=\"x\", value=-1}]\n", "0 to"},
      {"numbers = [{call = \"write\", number = 500}]\n" + good, "no group names write"},
      {"closed_last = [\"write\"]\n" + good, "no group names write"},
      {"numbers = [{call = \"read\", number = 5}]\n" + good, "from 424"},
  };
  for (const auto& [text, expected] : rows) {
    const auto rules = ParseSeccompPolicy(text, "p.toml");
    ASSERT_FALSE(rules.ok()) << text;
    EXPECT_NE(rules.error().message().find(expected), std::string::npos) << rules.error().message();
    EXPECT_TRUE(rules.error().message().starts_with("p.toml:")) << rules.error().message();
  }
}

TEST(SeccompPolicy, WithoutNamespacesThereAreNoSocketsAndNoIpcObjects) {
  const auto rules = BuiltinSeccompRules(Grade::kLandlock);
  ASSERT_TRUE(rules.ok()) << rules.error().message();
  EXPECT_EQ(rules->rules.size(), Rules().rules.size());
  const auto program = sys::CompileSeccomp(*rules);
  ASSERT_TRUE(program.ok()) << program.error().message();
  const auto call = [&](long number, long first, long second, long third) {
    return RunFiltered(&program.value(), [=] { return ErrnoOf(number, first, second, third); });
  };
  for (const int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_VSOCK}) {
    EXPECT_EQ(call(SYS_socket, family, SOCK_STREAM, 0), FailsWith(EAFNOSUPPORT)) << family;
  }
  EXPECT_EQ(call(SYS_shmget, 1, 4096, 01600), FailsWith(ENOSYS));
  EXPECT_EQ(call(SYS_setpriority, PRIO_USER, 0, 19), FailsWith(EPERM));
  EXPECT_EQ(call(SYS_setpriority, PRIO_PROCESS, 1, 19), FailsWith(EPERM));
  EXPECT_EQ(call(SYS_setpriority, PRIO_PROCESS, 0, 19), FailsWith(0));
}

TEST(SeccompPolicy, AStricterRuleForACallThatNoGroupNamesIsRefused) {
  const auto rules = ParseSeccompPolicy(R"(otherwise = "ENOSYS"
[[group]]
name = "a"
reason = "r"
action = "allow"
calls = ["read"]
[[landlock.group]]
name = "b"
reason = "r"
action = "EPERM"
calls = ["write"]
)",
                                        "x.toml");
  ASSERT_FALSE(rules.ok());
  EXPECT_NE(rules.error().message().find("no other group names write"), std::string::npos)
      << rules.error().message();
}

/// What the program answers, as the kernel would run it.
std::uint32_t Answer(const sys::SeccompProgram& program, const seccomp_data& call) {
  std::uint32_t accumulator = 0;
  for (const sock_filter* at = program.instructions().data();; ++at) {
    switch (at->code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&call) + at->k, sizeof accumulator);
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += accumulator == at->k ? at->jt : at->jf;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        at += accumulator >= at->k ? at->jt : at->jf;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        at += (accumulator & at->k) != 0 ? at->jt : at->jf;
        break;
      case BPF_JMP | BPF_JA:
        at += at->k;
        break;
      case BPF_RET | BPF_K:
        return at->k;
      default:
        ADD_FAILURE() << "unknown instruction " << at->code;
        return 0;
    }
  }
}

/// What a process with both filters gets: the kernel takes the graver answer.
std::uint32_t Graver(std::uint32_t one, std::uint32_t other) {
  const auto rank = [](std::uint32_t answer) {
    return static_cast<std::int32_t>(answer & SECCOMP_RET_ACTION_FULL);
  };
  return rank(one) < rank(other) ? one : other;
}

/// Calls that look at every value of the policy in every argument.
std::vector<seccomp_data> ManyCalls() {
  std::set<std::uint64_t> values = {0, 1, ~0ULL};
  for (const SeccompRule& rule : Rules().rules) {
    for (const sys::SeccompCase& one : rule.cases) {
      values.insert(one.values.begin(), one.values.end());
    }
  }
  std::vector<seccomp_data> calls;
  for (const std::uint32_t arch : {::seccomp_arch_native(), 0U, std::uint32_t{AUDIT_ARCH_I386}}) {
    for (int number = -1; number < 600; ++number) {
      for (const int kind : {number, number | 0x40000000}) {
        for (std::size_t i = 0; i < 6; ++i) {
          for (const std::uint64_t value : values) {
            calls.push_back({kind, arch, 0, {}});
            calls.back().args[i] = value;
          }
        }
      }
    }
  }
  return calls;
}

TEST(SeccompPolicy, TheTwoPartsOfAFilterDecideAsTheWhole) {
  const sys::SeccompProgram whole = sys::CompileSeccomp(Rules()).value();
  const GuestFilter parts = BuiltinGuestFilter().value();
  EXPECT_LT(parts.of_guest.instructions().size(), whole.instructions().size() / 3);
  for (const seccomp_data& call : ManyCalls()) {
    const std::uint32_t both = Graver(Answer(parts.of_guest, call), Answer(parts.of_slot, call));
    ASSERT_EQ(both, Answer(whole, call)) << call.nr << " on " << call.arch;
  }
}

TEST(SeccompPolicy, WhatIsClosedLastIsOpenBefore) {
  const GuestFilter parts = BuiltinGuestFilter().value();
  for (const long number : {SYS_mount, SYS_umount2, SYS_unshare, SYS_setns, SYS_seccomp}) {
    const seccomp_data call = {static_cast<int>(number), ::seccomp_arch_native(), 0, {}};
    EXPECT_EQ(Answer(parts.of_slot, call), SECCOMP_RET_ALLOW) << number;
    EXPECT_EQ(Answer(parts.of_guest, call), SECCOMP_RET_KILL_PROCESS) << number;
  }
}

TEST(SeccompPolicy, WithoutNamespacesGuestsGetTheWholeFilterAtOnce) {
  EXPECT_TRUE(BuiltinGuestFilter(Grade::kLandlock)->of_slot.instructions().empty());
  EXPECT_FALSE(BuiltinGuestFilter(Grade::kLandlock)->of_guest.instructions().empty());
  EXPECT_TRUE(BuiltinGuestFilter(Grade::kNone)->of_guest.instructions().empty());
}

}  // namespace
}  // namespace polybox::jail
