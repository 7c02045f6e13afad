// What a client gets beside answers of tools has no secrets: documents, prompts, questions and
// lines of its log.
#include <gtest/gtest.h>

#include "json/write.h"
#include "mcp/call_client.h"
#include "mcp/dispatcher.h"

namespace polybox::mcp {
namespace {

constexpr std::string_view kSecret = "s3cret-of-the-test";

/// Replaces the secret in every string.
void Redact(json::Value& value) {
  if (json::Array* array = value.if_array()) {
    for (json::Value& each : *array) Redact(each);
  } else if (json::Object* object = value.if_object()) {
    for (auto& member : *object) Redact(member.value());
  } else if (value.is_string()) {
    std::string text(value.get_string());
    const std::size_t at = text.find(kSecret);
    if (at != std::string::npos) value = json::Text(text.replace(at, kSecret.size(), "[gone]"));
  }
}

std::string With(std::string_view text) {
  return std::string(text) + std::string(kSecret);
}

class SecretSource final : public tools::ResourceSource {
 public:
  std::vector<tools::ResourceInfo> List(const tools::Context& /*context*/) const override {
    return {{.uri = With("file:///"), .name = With("name "), .description = With("about ")}};
  }
  std::optional<Result<tools::ResourceText>> Read(const tools::Context& /*context*/,
                                                  std::string_view uri) const override {
    if (uri == "file:///none") return Error(ErrorKind::kNotFound, With("no file "));
    return tools::ResourceText{.content = {"file:///a", "text/plain", With("text ")},
                               .next_uri = With("file:///")};
  }
  std::optional<tools::Completions> Complete(const tools::Context& /*context*/,
                                             std::string_view /*uri_template*/,
                                             std::string_view /*variable*/,
                                             std::string_view /*begin*/) const override {
    return tools::Completions{.values = {With("value ")}};
  }
};

tools::Prompt SecretPrompt() {
  const auto messages =
      [](const tools::Context& /*context*/,
         const tools::PromptValues& /*values*/) -> Result<std::vector<tools::Block>> {
    return std::vector<tools::Block>{tools::TextBlock{With("prompt ")}};
  };
  return {.name = "p", .title = "P", .description = With("describes "), .messages = messages};
}

std::string AnswerTo(const std::string& method, json::Object params) {
  const Dispatcher dispatcher({.tools = tools::Registry::Make({}).value(),
                               .version = "1",
                               .sources = {std::make_shared<SecretSource>()},
                               .prompts = {SecretPrompt()},
                               .scrub = Redact},
                              log::Logger::ToStderr({}));
  const Request request = {.id = 1, .method = method, .params = std::move(params)};
  const Outcome outcome = dispatcher.Answer(request, Version::k2025_11_25, {.principal = "test"});
  if (const auto* error = std::get_if<RpcError>(&outcome)) {
    return error->message + json::Write(error->data);
  }
  return json::Write(std::get<json::Object>(outcome));
}

TEST(Scrub, NoMethodForDocumentsAndPromptsShowsASecret) {
  const json::Object of_source = {{"ref", json::Object{{"uri", "file:///{path}"}}},
                                  {"argument", json::Object{{"name", "path"}, {"value", ""}}}};
  const std::vector<std::pair<std::string, json::Object>> rows = {
      {"resources/list", {}},
      {"resources/read", {{"uri", "file:///a"}}},
      {"resources/read", {{"uri", "file:///none"}}},
      {"prompts/list", {}},
      {"prompts/get", {{"name", "p"}}},
      {"prompts/get", {{"name", With("x")}}},
      {"completion/complete", of_source},
  };
  for (const auto& [method, params] : rows) {
    const std::string answer = AnswerTo(method, params);
    EXPECT_EQ(answer.find(kSecret), std::string::npos) << method << " " << answer;
    EXPECT_NE(answer.find("[gone]"), std::string::npos) << method << " " << answer;
  }
}

TEST(Scrub, QuestionsAndLinesOfTheLogShowNoSecret) {
  const StateSeal seal;
  const Request request = {.id = 1, .method = "tools/call", .params = {}};
  std::vector<std::string> sent;
  CallClient client(
      {.request = request,
       .version = Version::k2026_07_28,
       .principal = "test",
       .seal = seal,
       .log_level = tools::LogLevel::kInfo,
       .send = [&sent](const json::Value& message) { sent.push_back(json::Write(message)); },
       .scrub = Redact});
  client.Log(tools::LogLevel::kWarning, With("line "));
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_NE(sent[0].find("line [gone]"), std::string::npos) << sent[0];
  const tools::Question question = {
      .key = "k", .method = "elicitation/create", .params = {{"message", With("is it ")}}};
  EXPECT_FALSE(client.Ask({question}).ok());
  const std::optional<Outcome> asked = client.TakeQuestions();
  ASSERT_TRUE(asked);
  const std::string shown = json::Write(std::get<json::Object>(*asked));
  EXPECT_NE(shown.find("is it [gone]"), std::string::npos) << shown;
  EXPECT_EQ(shown.find(kSecret), std::string::npos) << shown;
}

}  // namespace
}  // namespace polybox::mcp
