#include "verify/memory.h"

#include "verify/testing/project_fixture.h"

namespace polybox::verify {
namespace {

class MemoryTest : public testing::ProjectFixture {
 protected:
  static TestFailure Failure(const std::string& id) {
    TestFailure failure;
    failure.id = id;
    return failure;
  }
  static CheckResult Run(const std::vector<std::string>& failed,
                         const std::vector<std::string>& passed) {
    CheckResult result = {.language = "go", .check = "test"};
    result.verdict = failed.empty() ? Verdict::kPassed : Verdict::kFailed;
    result.tests = Counts{.passed = static_cast<std::int64_t>(passed.size()),
                          .failed = static_cast<std::int64_t>(failed.size())};
    for (const std::string& id : failed) result.failures.push_back(Failure(id));
    result.passed_ids = passed;
    return result;
  }
  std::vector<std::string> Remembered(const std::string& path = "") const {
    std::vector<std::string> ids;
    const std::optional<LastRun> last = memory_.Recall(Open(path), "go");
    if (!last) return {"(no run)"};
    for (const TestFailure& failure : last->failures) ids.push_back(failure.id);
    return ids;
  }
  using Ids = std::vector<std::string>;

  polybox::testing::TempDir cache_;
  Memory memory_{cache_.path()};
};

TEST_F(MemoryTest, EachProjectAndLanguageHasAnEntryOfItsOwnOnDisk) {
  Put("sub/go.mod");
  EXPECT_EQ(Remembered(), Ids{"(no run)"});
  ASSERT_TRUE(memory_.Remember(Open(), Run({"a", "b"}, {"c"})).ok());
  EXPECT_EQ(Remembered(), (Ids{"a", "b"}));
  EXPECT_EQ(Remembered("sub"), Ids{"(no run)"});
  EXPECT_FALSE(memory_.Recall(Open(), "node"));
  EXPECT_TRUE(Memory(cache_.path()).Recall(Open(), "go")) << "another server remembers it";
}

TEST_F(MemoryTest, ARerunKeepsTheFailuresThatItDidNotRun) {
  ASSERT_TRUE(memory_.Remember(Open(), Run({"a", "b", "c"}, {})).ok());
  const LastRun before = *memory_.Recall(Open(), "go");
  const std::vector<TestFailure> asked = {before.failures[0], before.failures[1]};
  ASSERT_TRUE(memory_.RememberRerun(Open(), before, asked, Run({"b"}, {"a"})).ok());
  EXPECT_EQ(Remembered(), (Ids{"b", "c"}));
  ASSERT_TRUE(memory_.RememberRerun(Open(), before, asked, Run({}, {"a"})).ok());
  EXPECT_EQ(Remembered(), (Ids{"b", "c"})) << "b was not run";
}

TEST_F(MemoryTest, ARerunWithoutAVerdictChangesNothing) {
  ASSERT_TRUE(memory_.Remember(Open(), Run({"a"}, {})).ok());
  const LastRun before = *memory_.Recall(Open(), "go");
  CheckResult late = {.language = "go", .check = "test", .verdict = Verdict::kTimedOut};
  ASSERT_TRUE(memory_.RememberRerun(Open(), before, before.failures, late).ok());
  EXPECT_EQ(Remembered(), Ids{"a"});
}

TEST_F(MemoryTest, TestsThatTheRunnerDidNotFindAreNamed) {
  const std::vector<TestFailure> asked = {Failure("a"), Failure("b"), Failure("gone")};
  EXPECT_EQ(NotRun(asked, Run({"a"}, {"b"})), Ids{"gone"});
  EXPECT_EQ(NotRun(asked, Run({}, {})), (Ids{"a", "b", "gone"}));
  CheckResult unnamed = Run({}, {"x", "y"});
  unnamed.passed_ids.clear();
  EXPECT_EQ(NotRun(asked, unnamed), Ids{}) << "the runner names no tests that passed";
}

}  // namespace
}  // namespace polybox::verify
