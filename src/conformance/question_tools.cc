// Tools that ask the client in the middle of a call.
#include <fmt/format.h>

#include "conformance/fixture_tool.h"
#include "json/write.h"

namespace polybox::conformance {
namespace {

using tools::Context;
using tools::Question;

constexpr std::string_view kNameSchema =
    R"({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})";
constexpr std::string_view kOkSchema =
    R"({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]})";
constexpr std::string_view kColorSchema =
    R"({"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]})";
constexpr std::string_view kPersonSchema = R"({
  "type": "object",
  "properties": {"username": {"type": "string", "description": "User's response"},
                 "email": {"type": "string", "description": "User's email address"}},
  "required": ["username", "email"]})";
constexpr std::string_view kDefaultsSchema = R"({
  "type": "object",
  "properties": {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": true}}})";
constexpr std::string_view kEnumsSchema = R"({
  "type": "object",
  "properties": {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First Option"},
                                                 {"const": "value2", "title": "Second Option"},
                                                 {"const": "value3", "title": "Third Option"}]},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
                   "enumNames": ["Option One", "Option Two", "Option Three"]},
    "untitledMulti": {"type": "array",
                      "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {"type": "array",
                    "items": {"anyOf": [{"const": "value1", "title": "First Choice"},
                                        {"const": "value2", "title": "Second Choice"},
                                        {"const": "value3", "title": "Third Choice"}]}}}})";

struct PromptArguments {
  std::string prompt;
  static constexpr auto Members() {
    return std::tuple(json::Required("prompt", &PromptArguments::prompt));
  }
};

struct MessageArguments {
  std::string message;
  static constexpr auto Members() {
    return std::tuple(json::Required("message", &MessageArguments::message));
  }
};

Question Sampling(std::string key, std::string_view prompt, int max_tokens) {
  json::Object message = {{"role", "user"},
                          {"content", json::Object{{"type", "text"}, {"text", prompt}}}};
  return {std::move(key),
          "sampling/createMessage",
          {{"messages", json::Array{std::move(message)}}, {"maxTokens", max_tokens}}};
}

Question Roots(std::string key) {
  return {std::move(key), "roots/list", {}};
}

/// Returns a tool that asks these questions at once and shows the answers.
tools::Tool AskingTool(std::string name, std::vector<Question> questions) {
  return FixtureTool(
      std::move(name),
      [questions = std::move(questions)](
          const Context& context, const auto& /*none*/) -> Result<std::vector<tools::Block>> {
        POLYBOX_ASSIGN_OR_RETURN(const json::Object answers, Ask(context, questions));
        return TextOf("state-ok: " + json::Write(answers));
      });
}

Result<std::vector<tools::Block>> AskForText(const Context& context,
                                             const PromptArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Object answers,
                           Ask(context, {Sampling("text", arguments.prompt, 100)}));
  return TextOf("LLM response: " + json::Write(answers.at("text")));
}

Result<std::vector<tools::Block>> AskPerson(const Context& context,
                                            const MessageArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Object answers,
                           Ask(context, {Elicitation("person", arguments.message, kPersonSchema)}));
  return TextOf("User response: " + json::Write(answers.at("person")));
}

Result<std::vector<tools::Block>> AskTwice(const Context& context, const NoArguments& /*none*/) {
  POLYBOX_ASSIGN_OR_RETURN(
      const json::Object first,
      Ask(context, {Elicitation("step1", "Step 1: What is your name?", kNameSchema)}));
  POLYBOX_ASSIGN_OR_RETURN(
      const json::Object second,
      Ask(context, {Elicitation("step2", "Step 2: What is your favorite color?", kColorSchema)}));
  return TextOf(json::Write(first) + json::Write(second));
}

/// Asks only what the client can answer.
Result<std::vector<tools::Block>> AskWhatIsPossible(const Context& context,
                                                    const NoArguments& /*none*/) {
  std::vector<Question> questions;
  const auto can = [&](std::string_view what) {
    return context.client != nullptr && context.client->Can(what);
  };
  if (can("sampling")) questions.push_back(Sampling("text", "Say something", 50));
  if (can("elicitation")) questions.push_back(Elicitation("name", "Your name?", kNameSchema));
  POLYBOX_ASSIGN_OR_RETURN(const json::Object answers, Ask(context, questions));
  return TextOf(json::Write(answers));
}

}  // namespace

std::vector<tools::Tool> QuestionTools() {
  const Question name = Elicitation("user_name", "What is your name?", kNameSchema);
  const Question confirm = Elicitation("confirm", "Please confirm", kOkSchema);
  const std::string prefix = "test_input_required_result_";
  return {
      FixtureTool<PromptArguments>("test_sampling", AskForText),
      FixtureTool<MessageArguments>("test_elicitation", AskPerson),
      AskingTool("test_elicitation_sep1034_defaults",
                 {Elicitation("form", "Please check the defaults", kDefaultsSchema)}),
      AskingTool("test_elicitation_sep1330_enums",
                 {Elicitation("form", "Please choose", kEnumsSchema)}),
      AskingTool("test_streaming_elicitation", {name}),
      AskingTool("test_missing_capability", {Sampling("text", "Say something", 50)}),
      AskingTool(prefix + "elicitation", {name}),
      AskingTool(prefix + "sampling",
                 {Sampling("capital_question", "What is the capital of France?", 100)}),
      AskingTool(prefix + "list_roots", {Roots("client_roots")}),
      AskingTool(prefix + "request_state", {confirm}),
      AskingTool(prefix + "tampered_state", {confirm}),
      AskingTool(prefix + "multiple_inputs",
                 {name, Sampling("greeting", "Generate a greeting", 50), Roots("client_roots")}),
      FixtureTool(prefix + "multi_round", AskTwice),
      FixtureTool(prefix + "capabilities", AskWhatIsPossible),
  };
}

}  // namespace polybox::conformance
