#include "mcp/tasks.h"

#include <future>

#include <gtest/gtest.h>

#include "base/testing/await.h"

namespace polybox::mcp {
namespace {

using std::chrono::hours;

std::shared_ptr<Task> MakeTask(Tasks& tasks, const std::string& principal = "one") {
  return tasks.Create(principal, std::nullopt, std::stop_source()).value();
}

TEST(Tasks, ATaskExistsOnlyForItsPrincipal) {
  Tasks tasks;
  const auto task = MakeTask(tasks);
  EXPECT_EQ(tasks.Find("one", task->id()).value(), task);
  EXPECT_EQ(tasks.Find("two", task->id()).error().message(), "unknown task " + task->id());
  EXPECT_TRUE(tasks.List("two").empty());
}

TEST(Tasks, TheFirstEndCounts) {
  Tasks tasks;
  std::stop_source stop;
  const auto task = tasks.Create("one", std::nullopt, stop).value();
  EXPECT_TRUE(task->Cancel());
  EXPECT_TRUE(stop.stop_requested());
  task->Finish(json::Object{{"late", true}});
  EXPECT_EQ(task->state().status, TaskStatus::kCancelled);
  EXPECT_FALSE(task->state().outcome.has_value());
  EXPECT_FALSE(task->Cancel());
}

TEST(Tasks, AProtocolErrorIsAFailureAndAResultIsNot) {
  Tasks tasks;
  const auto failed = MakeTask(tasks);
  failed->Finish(RpcError{Code::kInternalError, "broken"});
  EXPECT_EQ(failed->state().status, TaskStatus::kFailed);
  EXPECT_EQ(failed->state().message, "broken");
  const auto done = MakeTask(tasks);
  done->Finish(json::Object{{"isError", true}});
  EXPECT_EQ(done->state().status, TaskStatus::kCompleted);
}

TEST(Tasks, LimitsHoldForEachPrincipalAndForAll) {
  Tasks tasks({.running = 2, .kept = 3, .running_in_all = 3});
  const auto first = MakeTask(tasks);
  MakeTask(tasks);
  EXPECT_FALSE(tasks.Create("one", std::nullopt, {}).ok()) << "a third that runs";
  MakeTask(tasks, "two");
  EXPECT_FALSE(tasks.Create("three", std::nullopt, {}).ok()) << "a fourth in all";
  first->Finish(json::Object());
  MakeTask(tasks);
  for (const auto& task : tasks.List("one")) task->Finish(json::Object());
  EXPECT_FALSE(tasks.Create("one", std::nullopt, {}).ok()) << "a fourth that is kept";
}

TEST(Tasks, ResultsHaveABudget) {
  Tasks tasks({.results = Bytes(100)});
  MakeTask(tasks)->Finish(json::Object{{"text", std::string(200, 'x')}});
  EXPECT_FALSE(tasks.Create("two", std::nullopt, {}).ok());
}

TEST(Tasks, ARunningTaskNeverExpiresAndAnEndedOneSaysSo) {
  Tasks tasks({.lifetime = Duration::zero(), .after_end = Duration::zero()});
  const auto task = MakeTask(tasks);
  EXPECT_TRUE(tasks.Find("one", task->id()).ok());
  task->Finish(json::Object());
  EXPECT_TRUE(polybox::testing::Await([&] { return !tasks.Find("one", task->id()).ok(); }));
  EXPECT_EQ(tasks.Find("one", task->id()).error().message(),
            "the task " + task->id() + " has expired: its time to live is over");
  EXPECT_EQ(tasks.Find("two", task->id()).error().message(), "unknown task " + task->id());
}

TEST(Tasks, AResultCanBeFetchedForAWhileWhateverTheClientWants) {
  Tasks tasks({.longest_lifetime = hours(2)});
  const auto brief = tasks.Create("one", Duration::zero(), {}).value();
  brief->Finish(json::Object());
  EXPECT_TRUE(tasks.Find("one", brief->id()).ok());
  EXPECT_EQ(tasks.Create("one", hours(5), {}).value()->lifetime(), Duration(hours(2)));
}

TEST(Tasks, AQuestionWaitsForAllAnswers) {
  Tasks tasks;
  const auto task = MakeTask(tasks);
  auto asked = std::async(std::launch::async, [&] {
    return task->Ask({{.key = "a", .method = "elicitation/create"},
                      {.key = "b", .method = "elicitation/create"}});
  });
  ASSERT_TRUE(polybox::testing::Await([&] { return task->state().questions.size() == 2; }));
  EXPECT_EQ(task->state().status, TaskStatus::kInputRequired);
  task->Answer({{"a", json::Object{{"action", "accept"}}}, {"unknown", json::Object()}});
  EXPECT_EQ(task->state().questions.size(), 1U);
  EXPECT_EQ(task->state().status, TaskStatus::kInputRequired);
  task->Answer({{"b", 5}});
  EXPECT_EQ(task->state().questions.size(), 1U) << "an answer is an object";
  task->Answer({{"b", json::Object()}});
  EXPECT_EQ(asked.get().value().size(), 2U);
  EXPECT_EQ(task->state().status, TaskStatus::kWorking);
}

TEST(Tasks, CancellingEndsAQuestionAndTellsThoseWhoWait) {
  Tasks tasks;
  const auto task = MakeTask(tasks);
  int told = 0;
  task->OnEnd([&] { ++told; });
  const std::uint64_t other = task->OnEnd([&] { told += 10; });
  task->StopWaiting(other);
  auto asked = std::async(std::launch::async, [&] {
    return task->Ask({{.key = "a", .method = "elicitation/create"}});
  });
  ASSERT_TRUE(polybox::testing::Await([&] { return task->state().questions.size() == 1; }));
  tasks.CancelAll();
  EXPECT_FALSE(asked.get().ok());
  EXPECT_EQ(told, 1);
  task->OnEnd([&] { ++told; });
  EXPECT_EQ(told, 2) << "after the end at once";
}

}  // namespace
}  // namespace polybox::mcp
