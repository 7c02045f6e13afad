// Tools that go on as tasks.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include <fmt/format.h>

#include "conformance/fixture_tool.h"
#include "json/write.h"

namespace polybox::conformance {
namespace {

using tools::Context;
using tools::TaskUse;

constexpr std::string_view kConfirmSchema =
    R"({"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]})";
constexpr std::string_view kNameSchema =
    R"({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})";

struct ComputeArguments {
  double seconds = 0;
  std::string label = {};
  static constexpr auto Members() {
    return std::tuple(json::Optional("seconds", &ComputeArguments::seconds),
                      json::Optional("label", &ComputeArguments::label));
  }
};

struct FileArguments {
  std::string filename;
  static constexpr auto Members() {
    return std::tuple(json::Required("filename", &FileArguments::filename));
  }
};

/// Waits for this time, or until the call is cancelled.
void Pass(const Context& context, double seconds) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, context.stop, std::chrono::duration<double>(seconds), [] { return false; });
}

void BecomeTask(const Context& context) {
  if (context.client != nullptr) context.client->BecomeTask();
}

Result<std::vector<tools::Block>> Compute(const Context& context,
                                          const ComputeArguments& arguments) {
  if (arguments.seconds > 0) {
    BecomeTask(context);
    Pass(context, arguments.seconds);
  }
  return TextOf("computed " + arguments.label);
}

Result<std::vector<tools::Block>> FailLater(const Context& context, const NoArguments& /*none*/) {
  BecomeTask(context);
  Pass(context, 1);
  return Error(ErrorKind::kInvalid, "the job failed");
}

Result<std::vector<tools::Block>> Break(const Context& context, const NoArguments& /*none*/) {
  BecomeTask(context);
  throw std::runtime_error("a defect on purpose");
}

Result<std::vector<tools::Block>> ConfirmDelete(const Context& context,
                                                const FileArguments& arguments) {
  BecomeTask(context);
  POLYBOX_ASSIGN_OR_RETURN(
      const json::Object answers,
      Ask(context,
          {Elicitation("confirm", fmt::format("Delete {}?", arguments.filename), kConfirmSchema)}));
  return TextOf("answered: " + json::Write(answers));
}

Result<std::vector<tools::Block>> AskTwoAtOnce(const Context& context,
                                               const NoArguments& /*none*/) {
  BecomeTask(context);
  POLYBOX_ASSIGN_OR_RETURN(const json::Object answers,
                           Ask(context, {Elicitation("first", "First name?", kNameSchema),
                                         Elicitation("second", "Second name?", kNameSchema)}));
  return TextOf("answered: " + json::Write(answers));
}

/// Asks before it becomes a task.
Result<std::vector<tools::Block>> AskThenWork(const Context& context, const NoArguments& /*none*/) {
  POLYBOX_ASSIGN_OR_RETURN(
      const json::Object answers,
      Ask(context, {Elicitation("user_name", "What is your name?", kNameSchema)}));
  BecomeTask(context);
  return TextOf("worked for " + json::Write(answers));
}

}  // namespace

std::vector<tools::Tool> TaskTools() {
  return {
      FixtureTool<ComputeArguments>("slow_compute", Compute, TaskUse::kMay),
      FixtureTool("failing_job", FailLater, TaskUse::kMust),
      FixtureTool("protocol_error_job", Break, TaskUse::kMay),
      FixtureTool<FileArguments>("confirm_delete", ConfirmDelete, TaskUse::kMay),
      FixtureTool("multi_input", AskTwoAtOnce, TaskUse::kMay),
      FixtureTool("test_tool_with_task", AskThenWork, TaskUse::kMust),
  };
}

}  // namespace polybox::conformance
