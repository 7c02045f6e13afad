#include "mcp/task_methods.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>

#include <fmt/format.h>

#include "json/write.h"
#include "mcp/call_client.h"
#include "mcp/documents.h"

namespace polybox::mcp {
namespace {

constexpr std::string_view kRelatedTaskKey = "io.modelcontextprotocol/related-task";
/// A command that becomes a task takes longer than a few seconds.
constexpr std::int64_t kPollMs = 1000;
constexpr std::size_t kPage = 50;

RpcError BadParams(std::string message) {
  return {Code::kInvalidParams, std::move(message)};
}

/// Returns the time as 2026-07-28T10:00:00.000Z.
std::string TimeText(std::chrono::system_clock::time_point time) {
  const auto since = time.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since - seconds);
  const auto whole = static_cast<std::time_t>(seconds.count());
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%FT%T", &parts);
  return fmt::format("{}.{:03}Z", std::string_view(text.data(), length), ms.count());
}

std::int64_t MillisecondsOf(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

/// Returns what both eras say of a task, in the words of the version.
json::Object Describe(const Task& task, const TaskState& state, Version version) {
  const bool modern = IsModern(version);
  json::Object entry = {{"taskId", task.id()},
                        {"status", NameOf(state.status)},
                        {"createdAt", TimeText(task.created())},
                        {"lastUpdatedAt", TimeText(state.updated)},
                        {modern ? "ttlMs" : "ttl", MillisecondsOf(task.lifetime())},
                        {modern ? "pollIntervalMs" : "pollInterval", kPollMs}};
  if (!state.message.empty()) entry["statusMessage"] = json::Text(state.message);
  return entry;
}

json::Object ErrorObject(const RpcError& error) {
  json::Object object = {{"code", static_cast<int>(error.code)},
                         {"message", json::Text(error.message)}};
  if (!error.data.is_null()) object["data"] = error.data;
  return object;
}

/// Returns the status with what it brings: questions, the result or the error.
json::Object DescribeInFull(const Task& task) {
  const TaskState state = task.state();
  json::Object entry = Describe(task, state, Version::k2026_07_28);
  if (!state.questions.empty()) entry["inputRequests"] = InputRequests(state.questions);
  if (!state.outcome) return entry;
  if (const auto* error = std::get_if<RpcError>(&*state.outcome)) {
    entry["error"] = ErrorObject(*error);
  } else {
    entry["result"] = std::get<json::Object>(*state.outcome);
  }
  return entry;
}

/// A cursor is the id of the last task of the page before.
Outcome ListTasks(const Request& request, Version version, std::string_view principal,
                  Tasks& tasks) {
  const std::vector<std::shared_ptr<Task>> all = tasks.List(principal);
  auto begin = all.begin();
  if (const json::Value* cursor = request.params.if_contains("cursor");
      cursor != nullptr && !cursor->is_null()) {
    const std::string_view id = cursor->is_string() ? std::string_view(cursor->get_string()) : "";
    begin = std::ranges::find_if(all, [&](const auto& task) { return task->id() == id; });
    if (begin == all.end()) return BadParams("unknown cursor");
    ++begin;
  }
  json::Array page;
  for (; begin != all.end() && page.size() < kPage; ++begin) {
    page.push_back(Describe(**begin, (*begin)->state(), version));
  }
  json::Object result = {{"tasks", std::move(page)}};
  if (begin != all.end()) result["nextCursor"] = (*std::prev(begin))->id();
  return result;
}

Outcome Update(const Request& request, Task& task) {
  const json::Value* answers = request.params.if_contains("inputResponses");
  if (answers == nullptr || !answers->is_object()) {
    return BadParams("inputResponses must be an object");
  }
  task.Answer(answers->get_object());
  return json::Object();
}

Outcome Cancel(Task& task, Version version) {
  const bool cancelled = task.Cancel();
  if (IsModern(version)) return json::Object();
  const TaskState state = task.state();
  if (!cancelled) {
    return BadParams(fmt::format("the task has ended already: {}", NameOf(state.status)));
  }
  return Describe(task, state, version);
}

}  // namespace

bool IsTaskMethod(std::string_view method, Version version) {
  constexpr std::array<std::string_view, 4> kLegacy = {"tasks/get", "tasks/list", "tasks/result",
                                                       "tasks/cancel"};
  constexpr std::array<std::string_view, 3> kModern = {"tasks/get", "tasks/update", "tasks/cancel"};
  if (IsModern(version)) return std::ranges::find(kModern, method) != kModern.end();
  return AsksForTasks(version) && std::ranges::find(kLegacy, method) != kLegacy.end();
}

std::variant<std::shared_ptr<Task>, RpcError> NamedTask(const Request& request,
                                                        std::string_view principal, Tasks& tasks) {
  const auto id = TextParam(request.params, "taskId");
  if (const auto* wrong = std::get_if<RpcError>(&id)) return *wrong;
  Result<std::shared_ptr<Task>> task = tasks.Find(principal, std::get<std::string_view>(id));
  if (!task.ok()) return BadParams(task.error().message());
  return std::move(task).value();
}

Outcome AnswerTaskMethod(const Request& request, Version version, std::string_view principal,
                         Tasks& tasks) {
  if (request.method == "tasks/list") return ListTasks(request, version, principal, tasks);
  const auto named = NamedTask(request, principal, tasks);
  if (const auto* wrong = std::get_if<RpcError>(&named)) return *wrong;
  Task& task = *std::get<std::shared_ptr<Task>>(named);
  if (request.method == "tasks/cancel") return Cancel(task, version);
  if (request.method == "tasks/update") return Update(request, task);
  return IsModern(version) ? DescribeInFull(task) : Describe(task, task.state(), version);
}

json::Object CreatedTask(const Task& task, Version version) {
  json::Object entry = Describe(task, task.state(), version);
  if (IsModern(version)) return entry;
  return {{"task", std::move(entry)}};
}

Outcome TaskResult(const Task& task) {
  const TaskState state = task.state();
  if (!state.outcome) return BadParams("the task was cancelled: it has no result");
  Outcome outcome = *state.outcome;
  if (auto* result = std::get_if<json::Object>(&outcome)) {
    json::Object meta = {{kRelatedTaskKey, json::Object{{"taskId", task.id()}}}};
    (*result)["_meta"] = std::move(meta);
  }
  return outcome;
}

WantedTask WantedTaskOf(const Request& request, Version version) {
  const json::Value* task = request.params.if_contains("task");
  const bool may_ask = AsksForTasks(version) && request.method == "tools/call";
  if (!may_ask || task == nullptr || !task->is_object()) return {};
  const json::Value* ttl = task->get_object().if_contains("ttl");
  // A number that is no sensible time is as good as none: the answer says what was chosen.
  if (ttl == nullptr || !ttl->is_int64() || ttl->get_int64() < 0) return {.asks = true};
  constexpr std::int64_t kMost = 1000LL * 3600 * 24 * 365;
  return {.asks = true, .lifetime = std::chrono::milliseconds(std::min(ttl->get_int64(), kMost))};
}

}  // namespace polybox::mcp
