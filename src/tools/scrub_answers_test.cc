#include "tools/scrub_answers.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/write.h"
#include "tools/all_tools.h"
#include "tools/observe_calls.h"
#include "tools/registry.h"
#include "tools/testing/sample_tools.h"

namespace polybox::tools {
namespace {

constexpr const char* kSecret = "s3cret/Value_4711";

class ScrubAnswersTest : public ::testing::Test {
 protected:
  Tool Wrap(Tool tool) const { return Scrubbed(std::move(tool), scrubber_); }

  std::unique_ptr<secrets::SecretStore> store_ =
      secrets::SecretStore::Open({.environment = {{"key", kSecret}}}).value();
  std::shared_ptr<secrets::Scrubber> scrubber_ =
      std::make_shared<secrets::Scrubber>(secrets::ScrubberOptions{.store = store_.get()});
};

TEST_F(ScrubAnswersTest, TextAndDataLoseTheValue) {
  const json::Value arguments = json::Object{{"text", std::string("a ") + kSecret}};
  const ToolAnswer answer = Wrap(testing::EchoTool()).call({.principal = "p"}, arguments);
  EXPECT_EQ(std::get<TextBlock>(answer.content.at(0)).text, "a [REDACTED:key]");
  EXPECT_EQ(answer.structured.at("text").as_string(), "a [REDACTED:key]");
}

TEST_F(ScrubAnswersTest, EveryKindOfBlockAndErrorLosesTheValue) {
  Tool tool = testing::EchoTool();
  const std::string text = std::string("x") + kSecret;
  tool.call = [text](const Context& context, const json::Value& /*arguments*/) -> ToolAnswer {
    context.progress({.message = text});
    return {
        .content = {TextBlock{text}, ImageBlock{"PNG" + text, "image/png"},
                    AudioBlock{"OGG" + text, "audio/ogg"},
                    ResourceBlock{"file:///" + text, "text/plain", text},
                    ResourceBlock{"file:///b", "application/x", text, ResourceBlock::Form::kBytes},
                    ResourceLinkBlock{.uri = text, .name = text, .description = text}},
        .structured = json::Object{{text, json::Array{text}}, {"n", 1}},
        .is_error = true};
  };
  std::string progress;
  const Context context = {.principal = "p",
                           .progress = [&](const Progress& report) { progress = report.message; }};
  const ToolAnswer answer = Wrap(tool).call(context, json::Object());
  EXPECT_EQ(progress, "x[REDACTED:key]");
  EXPECT_EQ(std::get<TextBlock>(answer.content.at(0)).text, "x[REDACTED:key]");
  EXPECT_EQ(std::get<ImageBlock>(answer.content.at(1)).bytes,
            "PNGx" + std::string(std::string_view(kSecret).size(), '*'));
  EXPECT_EQ(std::get<AudioBlock>(answer.content.at(2)).bytes,
            "OGGx" + std::string(std::string_view(kSecret).size(), '*'));
  EXPECT_EQ(std::get<ResourceBlock>(answer.content.at(3)).uri, "file:///x[REDACTED:key]");
  EXPECT_EQ(std::get<ResourceBlock>(answer.content.at(3)).content, "x[REDACTED:key]");
  EXPECT_EQ(std::get<ResourceBlock>(answer.content.at(4)).content.size(), text.size());
  const auto& link = std::get<ResourceLinkBlock>(answer.content.at(5));
  EXPECT_EQ(link.uri + link.name + link.description,
            "x[REDACTED:key]x[REDACTED:key]x[REDACTED:key]");
  EXPECT_EQ(json::Write(answer.structured), R"({"n":1,"x[REDACTED:key]":["x[REDACTED:key]"]})");
}

TEST_F(ScrubAnswersTest, Base64OfAResourceRemainsBase64) {
  // base64 of "ab" + kSecret + "c"
  json::Value value =
      json::Parse(R"({"blob":"YWJzM2NyZXQvVmFsdWVfNDcxMWM=","mimeType":"x"})").value();
  ScrubJson(value, *scrubber_);
  EXPECT_EQ(json::Write(value), R"({"blob":"YWAAAAAAAAAAAAAAAAAAAAAAAAM=","mimeType":"x"})");
}

class TwoDocuments final : public ResourceSource {
 public:
  std::optional<Result<ResourceText>> Read(const Context& /*context*/,
                                           std::string_view uri) const override {
    if (uri.ends_with("none")) return Error(ErrorKind::kNotFound, "no such file");
    if (!uri.starts_with("file:")) return std::nullopt;
    const std::string content = std::string("\xff ") + kSecret;
    const bool is_text = uri.ends_with("text");
    return ResourceText{
        {.uri = std::string(uri),
         .mime_type = "x/y",
         .content = content,
         .form = is_text ? ResourceBlock::Form::kText : ResourceBlock::Form::kBytes}};
  }
};

TEST_F(ScrubAnswersTest, DocumentsLoseTheValueAndBytesKeepTheirLength) {
  const auto source = Scrubbed(std::make_shared<TwoDocuments>(), scrubber_);
  const Context context = {.principal = "p"};
  EXPECT_EQ(source->Read(context, "file:///text")->value().content.content, "\xff [REDACTED:key]");
  EXPECT_EQ(source->Read(context, "file:///bytes")->value().content.content,
            "\xff " + std::string(std::string_view(kSecret).size(), '*'));
  EXPECT_FALSE(source->Read(context, "file:///none")->ok());
  EXPECT_FALSE(source->Read(context, "output:///x"));
}

TEST_F(ScrubAnswersTest, OnlyTheToolSecretRevealsAValue) {
  for (const Tool& tool : AllTools()) {
    EXPECT_EQ(tool.row.reveals_secrets, tool.row.name == "secret") << tool.row.name;
  }
  const Registry all = Registry::Make(AllTools()).value();
  const ToolAnswer answer =
      Wrap(*all.Find("secret"))
          .call({.principal = "p", .secrets = store_.get()}, json::Object{{"name", "key"}});
  EXPECT_EQ(std::get<TextBlock>(answer.content.at(0)).text, kSecret);
  EXPECT_EQ(all.Without(Needs::kSecrets).Find("secret"), nullptr);
  EXPECT_EQ(all.ReadOnly().Find("secret"), nullptr);
}

TEST(ObserveCalls, RecordsNamesSizesAndOutcomeOfEachCall) {
  std::vector<obs::ToolCall> calls;
  const auto record = [&calls](const obs::ToolCall& call) { calls.push_back(call); };
  const Context context = {.principal = "p", .origin = {.method = "tools/call", .request_id = "7"}};
  const json::Value arguments = json::Object{{"text", "hello"}, {"workspace", "api"}};
  (void)Observed(testing::EchoTool(), record).call(context, arguments);
  (void)Observed(testing::EchoTool(), record).call(context, arguments);
  (void)Observed(testing::FailTool(), record).call(context, json::Object());
  EXPECT_THROW((void)Observed(testing::ThrowTool(), record).call(context, json::Object()),
               std::runtime_error);
  ASSERT_EQ(calls.size(), 4U);
  EXPECT_EQ(calls[0].tool + calls[0].workspace + calls[0].request_id, "echoapi7");
  EXPECT_EQ(calls[0].argument_bytes, std::string("texthelloworkspaceapi").size());
  EXPECT_GT(calls[0].answer_bytes, 5U);
  EXPECT_EQ(calls[0].status, obs::CallStatus::kOk);
  EXPECT_EQ(calls[0].arguments_hash, calls[1].arguments_hash);
  EXPECT_NE(calls[0].arguments_hash, calls[2].arguments_hash);
  EXPECT_EQ(calls[2].status, obs::CallStatus::kError);
  EXPECT_EQ(calls[3].status, obs::CallStatus::kError);
}

}  // namespace
}  // namespace polybox::tools
