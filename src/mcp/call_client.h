// The client of one call, as the tool sees it (tools/client.h). A question reaches a legacy client
// as a request on the stream of the call; a modern client as the answer to the call, which it then
// sends again; and the client of a task as the task's status. Only the thread of the call uses it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "mcp/conversation.h"
#include "mcp/json_rpc.h"
#include "mcp/request_state.h"
#include "mcp/tasks.h"
#include "mcp/version.h"
#include "tools/client.h"

namespace polybox::mcp {

struct CallClientOptions {
  const Request& request;
  Version version;
  std::string principal;
  const StateSeal& seal;
  /// Nothing if the client never said what it can do.
  std::optional<json::Object> capabilities = {};
  /// Lines of lower levels are not sent. Nothing: the client wants none.
  std::optional<tools::LogLevel> log_level = {};
  /// Sends a message on the stream of the call. Null if the client cannot take one.
  SendMessage send = nullptr;
  /// Receives the answers to what `send` asks; null if the client's answers go nowhere.
  Conversation* conversation = nullptr;
  /// Makes a task of the call and answers the request with it. Returns null if that cannot be.
  std::function<std::shared_ptr<Task>()> make_task = nullptr;
  std::stop_token stop = {};
  /// Removes secrets from questions and lines of the log. May be null.
  std::function<void(json::Value&)> scrub = nullptr;
};

class CallClient final : public tools::Client {
 public:
  explicit CallClient(CallClientOptions options) : options_(std::move(options)) {}

  /// Reads `inputResponses` and `requestState` of the request. Must be called first.
  std::optional<RpcError> ReadAnswers();
  /// Continues a call that became a task before it began.
  void SetTask(std::shared_ptr<Task> task) { task_ = std::move(task); }
  const std::shared_ptr<Task>& task() const { return task_; }

  bool Can(std::string_view capability) const override;
  Result<json::Object> Ask(const std::vector<tools::Question>& questions) override;
  void Log(tools::LogLevel level, std::string_view text) override;
  bool BecomeTask() override;

  /// Returns what the request is answered with in place of the tool's own outcome: the questions
  /// that the tool has asked, or which capability the client lacks. Nothing if there are none.
  std::optional<Outcome> TakeQuestions();

 private:
  /// Asks questions that have no secrets.
  Result<json::Object> AskScrubbed(const std::vector<tools::Question>& questions);
  Result<json::Object> AskOnStream(const std::vector<tools::Question>& questions);
  Result<json::Object> AskByAnswer(const std::vector<tools::Question>& questions);

  const CallClientOptions options_;
  std::shared_ptr<Task> task_;
  /// What the client has answered in all rounds.
  json::Object answers_;
  /// What the tool has asked in this round.
  std::vector<tools::Question> asked_;
  std::set<std::string, std::less<>> missing_;
};

/// Returns the error for a client that did not declare these capabilities.
RpcError MissingCapability(json::Object required);
/// Returns the name of a level, such as "warning".
std::string_view NameOf(tools::LogLevel level);
std::optional<tools::LogLevel> LogLevelNamed(std::string_view name);

/// Returns the questions as MCP's `inputRequests`.
json::Object InputRequests(const std::vector<tools::Question>& questions);

}  // namespace polybox::mcp
