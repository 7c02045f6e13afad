// The requests about tasks, in the words of both eras: 2025-11-25 has tasks/get, tasks/list,
// tasks/result and tasks/cancel; the extension of 2026-07-28 has tasks/get, which also brings the
// result, tasks/update and tasks/cancel. Keeps nothing. Any thread.
#pragma once

#include <string>

#include "json/value.h"
#include "mcp/json_rpc.h"
#include "mcp/tasks.h"
#include "mcp/version.h"

namespace polybox::mcp {

/// Returns whether the method is one of tasks that this version has.
bool IsTaskMethod(std::string_view method, Version version);

/// Answers a request about tasks, except tasks/result.
Outcome AnswerTaskMethod(const Request& request, Version version, std::string_view principal,
                         Tasks& tasks);

/// Finds the task that the request names.
std::variant<std::shared_ptr<Task>, RpcError> NamedTask(const Request& request,
                                                        std::string_view principal, Tasks& tasks);

/// Returns the answer to a call that has become this task.
json::Object CreatedTask(const Task& task, Version version);
/// Returns the answer to tasks/result for a task that has ended.
Outcome TaskResult(const Task& task);

/// Returns how long a legacy client wants the task to be kept, if the call asks for a task.
/// `asks` says whether it does.
struct WantedTask {
  bool asks = false;
  std::optional<Duration> lifetime = {};
};
WantedTask WantedTaskOf(const Request& request, Version version);

}  // namespace polybox::mcp
