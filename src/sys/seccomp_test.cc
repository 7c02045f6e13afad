#include "sys/seccomp.h"

#include <thread>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "sys/testing/filtered_child.h"

namespace polybox::sys {
namespace {

using testing::ErrnoOf;
using testing::FailsWith;
using testing::Fate;
using testing::InstallSeccomp;
using testing::kKilled;
using testing::RunFiltered;

constexpr SeccompVerdict kAllow{SeccompAction::kAllow, 0};
constexpr SeccompVerdict kKill{SeccompAction::kKill, 0};
constexpr SeccompVerdict Fail(int error) {
  return {SeccompAction::kErrno, error};
}

SeccompRule Rule(const char* syscall, SeccompVerdict verdict, std::vector<SeccompCase> cases = {}) {
  return {syscall, std::nullopt, verdict, std::move(cases)};
}

/// Compiles rules that allow every call that `rules` does not name.
SeccompProgram Compile(std::vector<SeccompRule> rules, SeccompVerdict otherwise = kAllow) {
  Result<SeccompProgram> program = CompileSeccomp({otherwise, std::move(rules)});
  if (!program.ok()) {
    ADD_FAILURE() << program.error().message();
    std::abort();
  }
  return std::move(program).value();
}

std::string CompileError(std::vector<SeccompRule> rules) {
  const Result<SeccompProgram> program = CompileSeccomp({kAllow, std::move(rules)});
  return program.ok() ? "" : program.error().message();
}

TEST(Seccomp, EachActionDoesWhatItSays) {
  const SeccompProgram program = Compile({
      Rule("getpid", kAllow),
      Rule("getppid", Fail(EXDEV)),
      Rule("getuid", kKill),
      Rule("exit_group", kAllow),
  });
  EXPECT_EQ(RunFiltered(&program, [] { return ErrnoOf(SYS_getpid); }), FailsWith(0));
  EXPECT_EQ(RunFiltered(&program, [] { return ErrnoOf(SYS_getppid); }), FailsWith(EXDEV));
  EXPECT_EQ(RunFiltered(&program, [] { return ErrnoOf(SYS_getuid); }), kKilled);
}

TEST(Seccomp, ABitComparisonAsksForAllBitsAtOnce) {
  const SeccompProgram program =
      Compile({Rule("dup3", kAllow,
                    {{0, SeccompCompare::kHasNoBit, {0x1000, 0x4000}, Fail(EXDEV)},
                     {1, SeccompCompare::kHasBit, {0x1000, 0x4000}, Fail(ENOTTY)}})});
  constexpr long kHigh = 1L << 32;
  const auto error = [&](long first, long second) {
    return RunFiltered(&program, [=] { return ErrnoOf(SYS_dup3, first, second, 1L); });
  };
  for (const long none : {0L, 0x2fffL & ~0x1000L, kHigh}) {
    EXPECT_EQ(error(none, 0x1000), FailsWith(EXDEV)) << none;
  }
  for (const long some : {0x1000L, 0x4000L, 0x5000L, kHigh | 0x4001L}) {
    EXPECT_EQ(error(some, 0x5000), FailsWith(ENOTTY)) << some;
    EXPECT_EQ(error(some, 0x2000), FailsWith(EINVAL)) << some;
  }
}

TEST(Seccomp, PointersAreComparedWhole) {
  const SeccompProgram program = Compile({Rule(
      "dup3", Fail(ELOOP),
      {{0, SeccompCompare::kEquals, {5}, Fail(ENFILE), {{1, SeccompCompare::kEqualsWhole, {0}}}},
       {1, SeccompCompare::kEqualsWhole, {0, 7}, Fail(ENOTTY)}})});
  constexpr long kHigh = 1L << 32;
  const auto error = [&](long first, long second) {
    return RunFiltered(&program, [=] { return ErrnoOf(SYS_dup3, first, second, 1L); });
  };
  for (const long whole : {0L, 7L}) EXPECT_EQ(error(1, whole), FailsWith(ENOTTY)) << whole;
  for (const long no : {1L, kHigh, kHigh | 7}) {
    EXPECT_EQ(error(1, no), FailsWith(ELOOP)) << no;
    EXPECT_EQ(error(5, no), FailsWith(ELOOP)) << no;
  }
  EXPECT_EQ(error(5, 0), FailsWith(ENFILE));
}

TEST(Seccomp, ACallCanBeSaidToHaveWorked) {
  const SeccompProgram program = Compile({Rule("dup3", Fail(0))});
  EXPECT_EQ(RunFiltered(&program, [] { return ErrnoOf(SYS_dup3, -1L, -1L, -1L); }), FailsWith(0));
}

TEST(Seccomp, AKillTakesTheWholeProcessAndNotJustTheThread) {
  const SeccompProgram program = Compile({Rule("getuid", kKill)});
  EXPECT_EQ(RunFiltered(&program,
                        [] {
                          std::thread([] { ErrnoOf(SYS_getuid); }).join();
                          return 7;
                        }),
            kKilled);
}

TEST(Seccomp, CallsThatNoRuleNamesGetTheAnswerForTheRest) {
  const SeccompProgram program = Compile({Rule("exit_group", kAllow)}, Fail(ENOSYS));
  for (const long number : {static_cast<long>(SYS_getppid), 999L, 100000L, -1L}) {
    EXPECT_EQ(RunFiltered(&program, [=] { return ErrnoOf(number); }), FailsWith(ENOSYS)) << number;
  }
}

TEST(Seccomp, TheFirstCaseThatFitsWinsAndTheRuleDecidesOtherwise) {
  const SeccompProgram program =
      Compile({Rule("dup3", Fail(EXDEV),
                    {{0, SeccompCompare::kEquals, {1000, 1001, 1002}, Fail(ENOTTY)},
                     {1, SeccompCompare::kHasBit, {0x10, 0x40}, Fail(ENFILE)},
                     {0, SeccompCompare::kEquals, {1002, 1003}, Fail(EMLINK)}})});
  const struct {
    long first, second;
    int error;
  } rows[] = {
      {1000, 0, ENOTTY},    {1001, 0, ENOTTY},    {1002, 0x10, ENOTTY}, {1003, 0, EMLINK},
      {1003, 0x10, ENFILE}, {1004, 0x50, ENFILE}, {1004, 0x2f, EXDEV},  {0, 0, EXDEV},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(RunFiltered(&program, [&] { return ErrnoOf(SYS_dup3, row.first, row.second, 0L); }),
              FailsWith(row.error))
        << row.first << ' ' << row.second;
  }
}

TEST(Seccomp, ACaseDecidesOnlyWhenAllItsConditionsHold) {
  constexpr auto kEquals = SeccompCompare::kEquals;
  const SeccompProgram program =
      Compile({Rule("dup3", Fail(EXDEV),
                    {{0, kEquals, {1000, 1001}, Fail(ENOTTY), {{1, kEquals, {7, 8, 9}}}},
                     {1,
                      SeccompCompare::kHasBit,
                      {0x10},
                      Fail(ENFILE),
                      {{0, kEquals, {1001, 1002}}, {2, kEquals, {5}}}},
                     {0, kEquals, {1001}, Fail(EMLINK)}})});
  const struct {
    long first, second, third;
    int error;
  } rows[] = {
      {1000, 7, 0, ENOTTY},    {1001, 9, 0, ENOTTY},    {1000, 6, 0, EXDEV},
      {1001, 6, 0, EMLINK},    {1001, 0x10, 5, ENFILE}, {1001, 0x10, 6, EMLINK},
      {1002, 0x30, 5, ENFILE}, {1002, 0x20, 5, EXDEV},  {1003, 0x10, 5, EXDEV},
      {1003, 7, 5, EXDEV},
  };
  for (const auto& row : rows) {
    const auto call = [&] { return ErrnoOf(SYS_dup3, row.first, row.second, row.third); };
    EXPECT_EQ(RunFiltered(&program, call), FailsWith(row.error))
        << row.first << ' ' << row.second << ' ' << row.third;
  }
}

TEST(Seccomp, EveryArgumentCanBeCompared) {
  for (unsigned argument = 0; argument < 6; ++argument) {
    const SeccompProgram program =
        Compile({Rule("getpid", kAllow, {{argument, SeccompCompare::kEquals, {77}, Fail(EXDEV)}})});
    long arguments[6] = {};
    arguments[argument] = 77;
    EXPECT_EQ(RunFiltered(&program,
                          [&] {
                            return ErrnoOf(SYS_getpid, arguments[0], arguments[1], arguments[2],
                                           arguments[3], arguments[4], arguments[5]);
                          }),
              FailsWith(EXDEV))
        << argument;
  }
}

TEST(Seccomp, HighBitsOfAnArgumentNeitherBypassNorTriggerACase) {
  constexpr long kHigh = 0x7fff'0000'0000'0000;
  const SeccompProgram program =
      Compile({Rule("socket", Fail(EPERM), {{0, SeccompCompare::kEquals, {AF_UNIX}, kAllow}})});
  for (const long high : {0L, 1L << 32, kHigh, static_cast<long>(0xffff'ffff'0000'0000)}) {
    EXPECT_EQ(
        RunFiltered(&program, [=] { return ErrnoOf(SYS_socket, high | AF_UNIX, SOCK_STREAM, 0); }),
        FailsWith(0));
    EXPECT_EQ(
        RunFiltered(&program, [=] { return ErrnoOf(SYS_socket, high | AF_INET, SOCK_STREAM, 0); }),
        FailsWith(EPERM));
  }
}

#if defined(__x86_64__)
constexpr long kX32Bit = 0x40000000;

TEST(Seccomp, X32NumbersAreKilled) {
  const SeccompProgram program =
      Compile({Rule("getuid", kAllow, {{0, SeccompCompare::kEquals, {1}, kKill}})});
  for (const long number : {static_cast<long>(SYS_getpid), static_cast<long>(SYS_getuid), 512L}) {
    EXPECT_EQ(RunFiltered(&program, [=] { return ErrnoOf(kX32Bit | number); }), kKilled) << number;
  }
}

int GetPidOfI386() {
  constexpr long kGetPid = 20;
  long result = kGetPid;
  asm volatile("int $0x80" : "+a"(result) : : "memory");
  return result < 0 ? static_cast<int>(-result) : 0;
}

TEST(Seccomp, CallsOfI386AreKilled) {
  const SeccompProgram program = Compile({});
  const Fate free = RunFiltered(nullptr, GetPidOfI386);
  // A kernel without that ABI kills the process by itself.
  EXPECT_EQ(RunFiltered(&program, GetPidOfI386), free.signal == 0 ? kKilled : free);
}

TEST(Seccomp, RulesForCallsOfOtherArchitecturesAreLeftOut) {
  const SeccompProgram with = Compile({Rule("arm_fadvise64_64", kKill), Rule("socketcall", kKill)});
  EXPECT_EQ(with.instructions().size(), Compile({}).instructions().size());
}
#endif

TEST(Seccomp, ACallTooNewForTheLibraryIsKnownByItsNumber) {
  SeccompRule rule = Rule("some_future_call", Fail(EXDEV));
  rule.number = 1234;
  const SeccompProgram program = Compile({rule});
  EXPECT_EQ(RunFiltered(&program, [] { return ErrnoOf(1234); }), FailsWith(EXDEV));
}

TEST(Seccomp, MistakesAreNamed) {
  SeccompRule numbered = Rule("getpid", kKill);
  numbered.number = 4321;
  const struct {
    std::vector<SeccompRule> rules;
    const char* expected;
  } rows[] = {
      {{Rule("getpidd", kKill)}, "no system call is called \"getpidd\""},
      {{numbered}, "getpid has number"},
      {{Rule("getpid", kKill), Rule("getpid", kAllow)}, "two rules: getpid and getpid"},
      {{Rule("getpid", kKill, {{6, SeccompCompare::kEquals, {1}, kAllow}})}, "rule of getpid"},
      {{Rule("getpid", kKill, {{0, SeccompCompare::kEquals, {}, kAllow}})}, "rule of getpid"},
      {{Rule("getpid", kKill,
             {{0, SeccompCompare::kEquals, std::vector<std::uint32_t>(256, 1), kAllow}})},
       "1 to 255 values"},
  };
  for (const auto& row : rows) {
    EXPECT_NE(CompileError(row.rules).find(row.expected), std::string::npos)
        << CompileError(row.rules);
  }
}

TEST(Seccomp, TheLongestCaseThatFitsWorksToItsLastValue) {
  std::vector<std::uint32_t> values;
  for (std::uint32_t value = 0; value < 255; ++value) values.push_back(1000 + value);
  const SeccompProgram program =
      Compile({Rule("dup", Fail(EXDEV), {{0, SeccompCompare::kEquals, values, Fail(EMLINK)}})});
  for (const long value : {1000L, 1125L, 1254L}) {
    EXPECT_EQ(RunFiltered(&program, [=] { return ErrnoOf(SYS_dup, value); }), FailsWith(EMLINK));
  }
  EXPECT_EQ(RunFiltered(&program, [] { return ErrnoOf(SYS_dup, 1255L); }), FailsWith(EXDEV));
}

TEST(Seccomp, NeighboursAndFarAwayCallsAreToldApart) {
  // Long bodies on both sides of the middle call force the search to jump over both.
  std::vector<std::uint32_t> values(250, 1);
  const SeccompCase one = {0, SeccompCompare::kEquals, values, Fail(EMLINK)};
  const SeccompProgram program =
      Compile({Rule("getpid", Fail(EXDEV), {one}), Rule("dup", Fail(ENOTUNIQ), {one}),
               Rule("dup2", Fail(EBADR)), Rule("dup3", Fail(ELOOP), {one})});
  EXPECT_EQ(RunFiltered(&program, [] { return ErrnoOf(SYS_dup, 1L); }), FailsWith(EMLINK));
  EXPECT_EQ(RunFiltered(&program, [] { return ErrnoOf(SYS_dup, 0L); }), FailsWith(ENOTUNIQ));
  EXPECT_EQ(RunFiltered(&program, [] { return ErrnoOf(SYS_dup2, 1L); }), FailsWith(EBADR));
  EXPECT_EQ(RunFiltered(&program, [] { return ErrnoOf(SYS_dup3, 2L); }), FailsWith(ELOOP));
  EXPECT_EQ(RunFiltered(&program, [] { return ErrnoOf(SYS_getpid, 0L); }), FailsWith(EXDEV));
}

TEST(Seccomp, AnswersAreSharedAndStillFoundFromFarAway) {
  // Each call has an answer of its own and a hundred compared values. So the jumps to an answer are
  // longer than 255 instructions, the most that one jump of BPF can skip.
  std::vector<SeccompRule> rules;
  std::vector<std::uint32_t> values(100);
  for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = 1000 + i;
  const char* const calls[] = {"getuid",  "getgid",  "geteuid",    "getegid",
                               "getpgrp", "getppid", "sched_yield"};
  int error = 100;
  for (const char* call : calls) {
    rules.push_back(Rule(call, Fail(error++), {{0, SeccompCompare::kEquals, values, Fail(EXDEV)}}));
  }
  const SeccompProgram program = Compile(std::move(rules));
  const long numbers[] = {SYS_getuid,  SYS_getgid,  SYS_geteuid,    SYS_getegid,
                          SYS_getpgrp, SYS_getppid, SYS_sched_yield};
  EXPECT_GT(program.instructions().size(), 2U * 255U);
  error = 100;
  for (const long number : numbers) {
    EXPECT_EQ(RunFiltered(&program, [&] { return ErrnoOf(number, 1099L); }), FailsWith(EXDEV));
    EXPECT_EQ(RunFiltered(&program, [&] { return ErrnoOf(number, 5L); }), FailsWith(error++));
  }
  EXPECT_EQ(RunFiltered(&program, [] { return ErrnoOf(SYS_getpid); }), FailsWith(0));
}

TEST(Seccomp, AProgramOfManyPlainRulesHasOneInstructionForEachChange) {
  const SeccompProgram program = Compile({Rule("read", Fail(EXDEV)), Rule("open", Fail(EXDEV)),
                                          Rule("stat", kKill), Rule("poll", Fail(EXDEV))});
  // One comparison at both ends of each rule and of x32, three answers, and five instructions for
  // the architecture.
  EXPECT_LE(program.instructions().size(), 5U * 2U + 3U + 5U);
}

TEST(Seccomp, InstallingSaysWhyItFailed) {
  const SeccompProgram empty{std::vector<sock_filter>()};
  EXPECT_EQ(RunFiltered(nullptr, [&] { return InstallSeccomp(empty); }), FailsWith(EINVAL));
}

TEST(Seccomp, AFilterHoldsAcrossForkAndExec) {
  const SeccompProgram program = Compile({Rule("mkdirat", kKill), Rule("mkdir", kKill)});
  EXPECT_EQ(RunFiltered(&program,
                        [] {
                          ::execl("/bin/mkdir", "mkdir", "/tmp/polybox-never", nullptr);
                          return 1;
                        }),
            kKilled);
}

}  // namespace
}  // namespace polybox::sys
