#include "exec/ground.h"

#include <gtest/gtest.h>

namespace polybox::exec {
namespace {

using jail::Grade;
using jail::Uids;

sys::HostFacts IdealHost() {
  sys::HostFacts facts;
  facts.root = true;
  facts.landlock_abi = 7;
  facts.cgroups.writable = {"cpu", "memory", "pids"};
  return facts;
}

std::vector<Rung> Ladder(const sys::HostFacts& facts, const jail::GradeWish& wish) {
  auto ladder = LadderFor(jail::CheckHost(facts), wish);
  return ladder.ok() ? *ladder : std::vector<Rung>{};
}

constexpr jail::GradeWish kAny = {.minimum = Grade::kLandlock, .wanted = std::nullopt};

TEST(Ground, TheLadderGoesDownToTheMinimum) {
  const std::vector<Rung> rootless = {{Grade::kFull, Uids::kOwn},
                                      {Grade::kRootless, Uids::kOwn},
                                      {Grade::kRootless, Uids::kShared}};
  EXPECT_EQ(Ladder(IdealHost(), {}), rootless);
  std::vector<Rung> all = rootless;
  all.push_back({Grade::kLandlock, Uids::kOwn});
  all.push_back({Grade::kLandlock, Uids::kShared});
  EXPECT_EQ(Ladder(IdealHost(), kAny), all);
}

TEST(Ground, AGradeThatIsAskedForIsTheOnlyOne) {
  const jail::GradeWish wish = {.minimum = Grade::kLandlock, .wanted = Grade::kRootless};
  const std::vector<Rung> expected = {{Grade::kRootless, Uids::kOwn},
                                      {Grade::kRootless, Uids::kShared}};
  EXPECT_EQ(Ladder(IdealHost(), wish), expected);
}

TEST(Ground, NoneIsNeverReachedByGoingDown) {
  for (const Rung& rung : Ladder(IdealHost(), {.minimum = Grade::kNone, .wanted = std::nullopt})) {
    EXPECT_NE(rung.grade, Grade::kNone);
  }
}

TEST(Ground, RootWithoutOtherUidsSharesItsOwn) {
  sys::HostFacts facts = IdealHost();
  facts.own_uids.error = EPERM;
  const std::vector<Rung> expected = {{Grade::kRootless, Uids::kShared},
                                      {Grade::kLandlock, Uids::kShared}};
  EXPECT_EQ(Ladder(facts, kAny), expected);
}

TEST(Ground, AKernelWithoutLandlockHasNoSuchRung) {
  sys::HostFacts facts = IdealHost();
  facts.landlock_abi = 0;
  for (const Rung& rung : Ladder(facts, kAny)) EXPECT_NE(rung.grade, Grade::kLandlock);
}

TEST(Ground, EachFailedGradeIsReportedWithItsReason) {
  Descent descent({{Grade::kRootless, Uids::kOwn}, {Grade::kLandlock, Uids::kOwn}}, {});
  EXPECT_TRUE(descent.GoDown(Error(ErrorKind::kSystem, "make a slot: x")));
  EXPECT_EQ(descent.rung(), (Rung{Grade::kLandlock, Uids::kOwn}));
  EXPECT_FALSE(descent.GoDown(Error(ErrorKind::kSystem, "make a slot: y")));
  EXPECT_EQ(descent.Failure().message(),
            "no program can run: rootless does not work here: make a slot: x; landlock does not "
            "work here: make a slot: y");
  EXPECT_NE(descent.Failure().fix(), "");
}

TEST(Ground, TheAdviceFitsTheFailureOfTheLastRung) {
  struct Row {
    Grade grade;
    Error why;
    const char* advice;
  };
  const Row rows[] = {
      {Grade::kRootless, Error::FromErrno("make the cell", EPERM), "namespaces"},
      {Grade::kLandlock, Error::FromErrno("make a directory", EROFS), "TMPDIR"},
      {Grade::kRootless, Error::FromErrno("make the cell", EAGAIN), "ulimit -u"},
      {Grade::kLandlock, Error::FromErrno("open a pipe", EMFILE), "ulimit -n"},
      {Grade::kRootless, Error::FromErrno("x", EAGAIN).WithFix("its own advice"), "its own advice"},
  };
  for (const Row& row : rows) {
    Descent descent({{row.grade, Uids::kShared}}, {});
    EXPECT_FALSE(descent.GoDown(row.why));
    EXPECT_NE(descent.Failure().fix().find(row.advice), std::string::npos)
        << row.why.message() << ": " << descent.Failure().fix();
  }
}

TEST(Ground, AMissingSubreaperIsNotedWhereThereAreNoNamespaces) {
  sys::HostFacts facts = IdealHost();
  facts.subreaper.error = EINVAL;
  const std::vector<jail::HostCheck> checks = jail::CheckHost(facts);
  const std::vector<std::string> note = {"child subreaper: Invalid argument"};
  EXPECT_EQ(NotesOf(checks, Grade::kNone), note);
  EXPECT_EQ(NotesOf(checks, Grade::kLandlock), note);
  EXPECT_EQ(NotesOf(checks, Grade::kRootless), std::vector<std::string>{});
}

TEST(Ground, ANoexecTemporaryDirectoryIsNotedWhereThereAreNoNamespaces) {
  sys::HostFacts facts = IdealHost();
  facts.noexec_directory = "/dev/shm";
  const std::vector<jail::HostCheck> checks = jail::CheckHost(facts);
  const std::vector<std::string> note = {
      "executable temporary directory: /dev/shm is mounted noexec"};
  EXPECT_EQ(NotesOf(checks, Grade::kLandlock), note);
  EXPECT_EQ(NotesOf(checks, Grade::kFull), std::vector<std::string>{});
}

TEST(Ground, AProgramRunsOnTheGroundThatIsFound) {
  sys::HostFacts facts = IdealHost();
  facts.own_uids.error = EPERM;
  Descent descent({{Grade::kNone, Uids::kShared}}, jail::CheckHost(facts));
  const Result<launch::JailHome> home = FindGround(descent);
  ASSERT_TRUE(home.ok()) << home.error().message();
  ASSERT_EQ(home->notes().size(), 2U);
  EXPECT_TRUE(home->notes()[0].starts_with("own uid per slot: ")) << home->notes()[0];
  EXPECT_EQ(home->notes()[1], jail::LimitsNote(Grade::kNone));
  EXPECT_TRUE(TrySlot(*home).ok());
}

}  // namespace
}  // namespace polybox::exec
