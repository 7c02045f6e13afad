// What must hold for the policy file, and for a guest under the policy.
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
#include <netinet/in.h>
#include <netinet/tcp.h>
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

/// Returns a negative number when this architecture does not have the call.
int NumberOf(const SeccompRule& rule) {
  const int known = ::seccomp_syscall_resolve_name(rule.syscall.c_str());
  return known == __NR_SCMP_ERROR ? rule.number.value_or(-1) : known;
}

/// -1 is no valid pointer, descriptor or set of flags. So a call that is allowed by mistake fails
/// and does nothing.
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
        "lsm_get_self_attr", "lsm_list_modules", "cachestat", "openat2", "file_setattr"}},
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
      // No process listens for the calls that this filter asks about. The kernel then answers
      // ENOSYS.
      const int refusal = family == AF_NETLINK ? ENOSYS : EPERM;
      EXPECT_EQ(Call(SYS_socket, high | family, SOCK_DGRAM, 0), FailsWith(allowed ? 0 : refusal))
          << family;
    }
    for (const long protocol : {1L, 4L, 12L, 16L}) {
      EXPECT_EQ(Call(SYS_socket, high | AF_NETLINK, SOCK_RAW, high | protocol),
                FailsWith(EAFNOSUPPORT))
          << protocol;
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

TEST(SeccompPolicy, NoSocketTakesAProgram) {
  const auto option = [](long level, long name) {
    return RunAsGuest([=] {
      const long fd = ::syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0);
      sock_filter all = BPF_STMT(BPF_RET | BPF_K, 0xffff);
      const sock_fprog program = {1, &all};
      return ErrnoOf(SYS_setsockopt, fd, level, name, &program, sizeof program);
    });
  };
  for (const long high : {0L, kHighBits}) {
    for (const long name :
         {SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF}) {
      EXPECT_EQ(option(high | SOL_SOCKET, high | name), FailsWith(ENOPROTOOPT)) << name;
    }
    EXPECT_EQ(option(high | SOL_SOCKET, SO_REUSEADDR), FailsWith(0));
    // SO_ATTACH_BPF has the number of IP_UNICAST_IF, which refuses this value.
    EXPECT_EQ(option(high | IPPROTO_IP, IP_UNICAST_IF), FailsWith(EINVAL));
  }
}

TEST(SeccompPolicy, TheLimitOfCoresStaysAsTheJailHasSetIt) {
  const auto limit_after = [](auto set) {
    return RunAsGuest([=] {
      rlimit before{};
      rlimit after{};
      ::syscall(SYS_prlimit64, 0, RLIMIT_CORE, nullptr, &before);
      if (set() != 0) return 100;
      if (::syscall(SYS_prlimit64, 0, RLIMIT_CORE, nullptr, &after) != 0) return 101;
      return before.rlim_cur == after.rlim_cur && before.rlim_max == after.rlim_max ? 0 : 102;
    });
  };
  static constexpr rlimit kOther = {3, 3};
  for (const long high : {0L, kHighBits}) {
    EXPECT_EQ(limit_after([=] { return ErrnoOf(SYS_setrlimit, high | RLIMIT_CORE, &kOther); }),
              FailsWith(0));
    EXPECT_EQ(limit_after([=] {
                return ErrnoOf(SYS_prlimit64, high, high | RLIMIT_CORE, &kOther, nullptr);
              }),
              FailsWith(0));
  }
  // A pointer to a new value is not null although its low half is 0. So this call is no query.
  EXPECT_EQ(limit_after([] {
              constexpr std::uintptr_t kLowHalf = 1UL << 32;
              void* room = ::mmap(nullptr, 2 * kLowHalf, PROT_NONE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
              if (room == MAP_FAILED) return 103;
              const auto begin = reinterpret_cast<std::uintptr_t>(room);
              auto* place = static_cast<rlimit*>(static_cast<void*>(static_cast<std::byte*>(room) +
                                                                    (kLowHalf - begin % kLowHalf)));
              if (::mprotect(place, sizeof(rlimit), PROT_READ | PROT_WRITE) != 0) return 104;
              *place = kOther;
              return ErrnoOf(SYS_prlimit64, 0L, RLIMIT_CORE, place, nullptr);
            }),
            FailsWith(0));
  static constexpr rlimit kFiles = {20, 20};
  EXPECT_EQ(Call(SYS_prlimit64, 0L, RLIMIT_NOFILE, &kFiles, nullptr), FailsWith(0));
  EXPECT_EQ(Call(SYS_setrlimit, RLIMIT_NOFILE, &kFiles), FailsWith(0));
  EXPECT_EQ(Call(SYS_prlimit64, static_cast<long>(::getpid()), RLIMIT_NOFILE, nullptr, nullptr),
            FailsWith(EPERM));
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
      {good + start + "0\ncompare = \"has-any\"\nvalues = [{name=\"x\", value=1}]\n", "has-no-bit"},
      {good + start + "0\ncompare = \"equals\"\n", "expected at least one"},
      {good + start + "0\ncompare = \"equals\"\nvalues = [{name=\"x\", value=-1}]\n", "0 to"},
      {good + start + "0\ncompare = \"equals\"\nvalues = [{name=\"x\", value=1}]\n" +
           "[[group.case.also]]\nargument = 1\ncompare = \"equals\"\n",
       "expected at least one"},
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

TEST(SeccompPolicy, ASocketOptionThatOutlivesItsSocketIsClosed) {
  const struct {
    int level, option, error;
  } rows[] = {
      {IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, ENODEV},
      {IPPROTO_IPV6, IPV6_JOIN_ANYCAST, ENODEV},
      {IPPROTO_IPV6, MCAST_JOIN_GROUP, ENODEV},
      {IPPROTO_IPV6, MCAST_JOIN_SOURCE_GROUP, ENODEV},
      {IPPROTO_IPV6, MCAST_MSFILTER, ENODEV},
      {IPPROTO_IP, IP_ADD_MEMBERSHIP, ENODEV},
      {IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, ENODEV},
      {IPPROTO_IP, IP_BLOCK_SOURCE, ENODEV},
      {IPPROTO_IP, MCAST_JOIN_GROUP, ENODEV},
      {IPPROTO_IPV6, 32, ENOPROTOOPT},  // IPV6_FLOWLABEL_MGR
      {IPPROTO_TCP, TCP_FASTOPEN, ENOPROTOOPT},
      {IPPROTO_TCP, TCP_ULP, ENOPROTOOPT},
      {IPPROTO_UDP, 100, ENOPROTOOPT},  // UDP_ENCAP
      {270, 1, ENOPROTOOPT},            // SOL_NETLINK, NETLINK_ADD_MEMBERSHIP
      // Allowed: the kernel says that -1 is no descriptor.
      {SOL_SOCKET, SO_REUSEADDR, EBADF},
      {IPPROTO_TCP, TCP_NODELAY, EBADF},
      {IPPROTO_IPV6, IPV6_V6ONLY, EBADF},
      {IPPROTO_IP, IP_TTL, EBADF},
  };
  for (const auto& [level, option, error] : rows) {
    EXPECT_EQ(Call(SYS_setsockopt, -1L, level, option, 0L, 0L), FailsWith(error))
        << level << ' ' << option;
  }
  EXPECT_EQ(Call(SYS_getsockopt, -1L, SOL_SOCKET, SO_COOKIE, 0L, 0L), FailsWith(ENOPROTOOPT));
  EXPECT_EQ(Call(SYS_getsockopt, -1L, SOL_SOCKET, SO_TYPE, 0L, 0L), FailsWith(EBADF));
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

/// Returns the answer of the filter program, as the kernel would run it.
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

/// Returns the answer for a process with both filters: the kernel takes the stricter one.
std::uint32_t Graver(std::uint32_t one, std::uint32_t other) {
  const auto rank = [](std::uint32_t answer) {
    return static_cast<std::int32_t>(answer & SECCOMP_RET_ACTION_FULL);
  };
  return rank(one) < rank(other) ? one : other;
}

/// Returns one call for each pair of values, for each case of the policy with several conditions.
std::vector<seccomp_data> CallsOfCases() {
  std::vector<seccomp_data> calls;
  for (const SeccompRule& rule : Rules().rules) {
    for (const sys::SeccompCase& one : rule.cases) {
      for (const sys::SeccompCondition& also : one.also) {
        for (const std::uint32_t value : one.values) {
          for (const std::uint32_t second : also.values) {
            calls.push_back({NumberOf(rule), ::seccomp_arch_native(), 0, {}});
            calls.back().args[one.argument] = value;
            calls.back().args[also.argument] = second;
          }
        }
      }
    }
  }
  return calls;
}

/// Returns calls with every value of the policy in every argument.
std::vector<seccomp_data> ManyCalls() {
  std::set<std::uint64_t> values = {0, 1, ~0ULL};
  for (const SeccompRule& rule : Rules().rules) {
    for (const sys::SeccompCase& one : rule.cases) {
      values.insert(one.values.begin(), one.values.end());
    }
  }
  std::vector<seccomp_data> calls = CallsOfCases();
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

TEST(SeccompPolicy, CallsClosedLastAreOpenBefore) {
  const GuestFilter parts = BuiltinGuestFilter().value();
  const auto allowed = [&](long number, std::uint32_t answer) {
    const seccomp_data call = {static_cast<int>(number), ::seccomp_arch_native(), 0, {}};
    EXPECT_EQ(Answer(parts.of_slot, call), SECCOMP_RET_ALLOW) << number;
    EXPECT_EQ(Answer(parts.of_guest, call), answer) << number;
  };
  for (const long number : {SYS_mount, SYS_umount2, SYS_unshare, SYS_setns, SYS_seccomp}) {
    allowed(number, SECCOMP_RET_KILL_PROCESS);
  }
  allowed(SYS_openat2, SECCOMP_RET_ERRNO | ENOSYS);
}

TEST(SeccompPolicy, WithoutNamespacesGuestsGetTheWholeFilterAtOnce) {
  EXPECT_TRUE(BuiltinGuestFilter(Grade::kLandlock)->of_slot.instructions().empty());
  EXPECT_FALSE(BuiltinGuestFilter(Grade::kLandlock)->of_guest.instructions().empty());
  EXPECT_TRUE(BuiltinGuestFilter(Grade::kNone)->of_guest.instructions().empty());
}

}  // namespace
}  // namespace polybox::jail
