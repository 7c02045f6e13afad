#include "mcp/call_client.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "json/write.h"

namespace polybox::mcp {
namespace {

constexpr std::array<std::string_view, 8> kLevels = {"debug", "info",     "notice", "warning",
                                                     "error", "critical", "alert",  "emergency"};

/// Returns the capability that a client needs for a request of this method.
std::string_view CapabilityFor(std::string_view method) {
  return method.substr(0, method.find('/'));
}

/// Returns whether this can be the client's answer to the question.
bool Fits(const json::Value* answer, const tools::Question& question) {
  const json::Object* members = answer == nullptr ? nullptr : answer->if_object();
  if (members == nullptr) return false;
  return question.method != "elicitation/create" || members->contains("action");
}

}  // namespace

std::string_view NameOf(tools::LogLevel level) {
  return kLevels.at(static_cast<std::size_t>(level));
}

std::optional<tools::LogLevel> LogLevelNamed(std::string_view name) {
  const auto* found = std::ranges::find(kLevels, name);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<tools::LogLevel>(found - kLevels.begin());
}

RpcError MissingCapability(json::Object required) {
  return {Code::kMissingCapability, "Missing required client capability",
          json::Object{{"requiredCapabilities", std::move(required)}}};
}

json::Object InputRequests(const std::vector<tools::Question>& questions) {
  json::Object requests;
  for (const tools::Question& question : questions) {
    requests[question.key] = json::Object{{"method", question.method}, {"params", question.params}};
  }
  return requests;
}

std::optional<RpcError> CallClient::ReadAnswers() {
  if (!IsModern(options_.version)) return std::nullopt;
  const json::Object& params = options_.request.params;
  if (const json::Value* state = params.if_contains("requestState")) {
    if (!state->is_string()) return RpcError{Code::kInvalidParams, "requestState must be a string"};
    Result<json::Object> earlier =
        options_.seal.Open(state->get_string(), options_.request, options_.principal);
    if (!earlier.ok()) {
      return RpcError{Code::kInvalidParams,
                      fmt::format("{}; {}", earlier.error().message(), earlier.error().fix())};
    }
    answers_ = std::move(earlier).value();
  }
  const json::Value* given = params.if_contains("inputResponses");
  if (given == nullptr) return std::nullopt;
  const json::Object* members = given->if_object();
  if (members == nullptr) {
    return RpcError{Code::kInvalidParams, "inputResponses must be an object"};
  }
  for (const auto& [key, answer] : *members) answers_[key] = answer;
  return std::nullopt;
}

bool CallClient::Can(std::string_view capability) const {
  return !options_.capabilities || options_.capabilities->contains(capability);
}

Result<json::Object> CallClient::Ask(const std::vector<tools::Question>& questions) {
  for (const tools::Question& question : questions) {
    const std::string_view needed = CapabilityFor(question.method);
    if (!Can(needed)) missing_.emplace(needed);
  }
  if (!missing_.empty()) {
    return Error(ErrorKind::kUnavailable,
                 fmt::format("the client cannot answer {}", *missing_.begin()));
  }
  if (!options_.scrub) return AskScrubbed(questions);
  std::vector<tools::Question> scrubbed = questions;
  for (tools::Question& question : scrubbed) {
    json::Value params = std::move(question.params);
    options_.scrub(params);
    question.params = std::move(params.as_object());
  }
  return AskScrubbed(scrubbed);
}

Result<json::Object> CallClient::AskScrubbed(const std::vector<tools::Question>& questions) {
  if (!IsModern(options_.version)) return AskOnStream(questions);
  return task_ != nullptr ? task_->Ask(questions) : AskByAnswer(questions);
}

Result<json::Object> CallClient::AskOnStream(const std::vector<tools::Question>& questions) {
  if (options_.conversation == nullptr || (task_ == nullptr && !options_.send)) {
    return Error(ErrorKind::kUnavailable, "the client cannot be asked over this connection");
  }
  // The stream of the call ended when the call became a task.
  const SendMessage send = task_ == nullptr ? options_.send : [this](const json::Value& message) {
    options_.conversation->Send(message);
  };
  json::Object answers;
  for (const tools::Question& question : questions) {
    POLYBOX_ASSIGN_OR_RETURN(json::Object answer,
                             options_.conversation->Ask(question, send, options_.stop));
    answers[question.key] = std::move(answer);
  }
  return answers;
}

Result<json::Object> CallClient::AskByAnswer(const std::vector<tools::Question>& questions) {
  json::Object answers;
  for (const tools::Question& question : questions) {
    const json::Value* answer = answers_.if_contains(question.key);
    if (!Fits(answer, question)) {
      answers_.erase(question.key);
      asked_.push_back(question);
    } else {
      answers[question.key] = *answer;
    }
  }
  if (asked_.empty()) return answers;
  return Error(ErrorKind::kUnavailable, "the client is asked by the answer to this call");
}

void CallClient::Log(tools::LogLevel level, std::string_view text) {
  if (!options_.send || !options_.log_level || level < *options_.log_level) return;
  json::Value data = json::Text(text);
  if (options_.scrub) options_.scrub(data);
  options_.send(NotificationMessage(
      "notifications/message",
      {{"level", NameOf(level)}, {"logger", "polybox"}, {"data", std::move(data)}}));
}

bool CallClient::BecomeTask() {
  if (task_ == nullptr && options_.make_task) task_ = options_.make_task();
  return task_ != nullptr;
}

std::optional<Outcome> CallClient::TakeQuestions() {
  if (!missing_.empty() && IsModern(options_.version)) {
    json::Object required;
    for (const std::string& each : missing_) required[each] = json::Object();
    return MissingCapability(std::move(required));
  }
  if (asked_.empty()) return std::nullopt;
  const Result<std::string> state =
      options_.seal.Close(answers_, options_.request, options_.principal);
  if (!state.ok()) return RpcError{Code::kInvalidParams, state.error().message()};
  return json::Object{{"inputRequests", InputRequests(asked_)}, {"requestState", *state}};
}

}  // namespace polybox::mcp
