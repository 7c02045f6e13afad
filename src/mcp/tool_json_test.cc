#include "mcp/tool_json.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/write.h"
#include "tools/all_tools.h"
#include "tools/testing/sample_tools.h"

namespace polybox::mcp {
namespace {

constexpr Version kOld = Version::k2024_11_05;
constexpr Version kNew = Version::k2026_07_28;

TEST(DescribeTool, SaysAllThatTheVersionKnows) {
  const json::Value wanted = json::Parse(R"({
    "name": "budget", "title": "A tool for tests", "description": "A tool for tests",
    "inputSchema": {
      "type": "object",
      "properties": {
        "workspace": {"type": "string", "description": "Name of the workspace"},
        "budget_tokens": {"type": "integer", "minimum": 100, "maximum": 1000000,
                          "description": "Most tokens of the answer", "default": 8000}
      },
      "additionalProperties": false
    },
    "outputSchema": {"type": "object", "properties": {"count": {"type": "integer"}},
                     "required": ["count"], "additionalProperties": false},
    "annotations": {"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false,
                    "openWorldHint": true},
    "_meta": {"anthropic/maxResultSizeChars": 500000}
  })")
                                 .value();
  EXPECT_EQ(json::Value(DescribeTool(tools::testing::BudgetTool(), kNew, StructuredOutput::kAuto)),
            wanted);
}

TEST(DescribeTool, OldVersionsGetOnlyTheMembersTheyKnow) {
  const auto names = [](Version version, StructuredOutput form) {
    std::string text;
    for (const auto& member : DescribeTool(tools::testing::EchoTool(), version, form)) {
      text += std::string(member.key()) + " ";
    }
    return text;
  };
  EXPECT_EQ(names(kOld, StructuredOutput::kBoth), "name description inputSchema ");
  EXPECT_EQ(names(Version::k2025_03_26, StructuredOutput::kBoth),
            "name description inputSchema annotations ");
  EXPECT_EQ(names(Version::k2025_06_18, StructuredOutput::kText),
            "name title description inputSchema annotations ");
  EXPECT_EQ(names(Version::k2025_06_18, StructuredOutput::kMirror),
            "name title description inputSchema outputSchema annotations ");
}

TEST(DescribeAnswer, TheFormDecidesWhatAClientGets) {
  const tools::ToolAnswer answer = {.content = {tools::TextBlock{"one"}},
                                    .structured = json::Object{{"count", 1}}};
  const std::string text = R"({"content":[{"type":"text","text":"one"}],)";
  const std::string data = R"("structuredContent":{"count":1},)";
  const std::string end = R"("isError":false})";
  struct Case {
    StructuredOutput form;
    Version version;
    std::string wanted;
  };
  const std::vector<Case> cases = {
      {StructuredOutput::kAuto, kNew, text + data + end},
      {StructuredOutput::kAuto, kOld, text + end},
      {StructuredOutput::kBoth, kOld, text + data + end},
      {StructuredOutput::kText, kNew, text + end},
      {StructuredOutput::kStructured, kNew, R"({"content":[],)" + data + end},
      {StructuredOutput::kMirror, kNew,
       R"({"content":[{"type":"text","text":"{\"count\":1}"}],)" + data + end},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(json::Write(DescribeAnswer(answer, each.version, each.form)), each.wanted);
  }
}

TEST(DescribeAnswer, AnErrorIsAlwaysText) {
  const tools::ToolAnswer answer = tools::ErrorAnswer(Error(ErrorKind::kNotFound, "none"));
  for (const char* form : {"auto", "both", "text", "structured", "mirror"}) {
    EXPECT_EQ(json::Write(DescribeAnswer(answer, kNew, *StructuredOutputNamed(form))),
              R"({"content":[{"type":"text","text":"none"}],"isError":true})");
  }
  EXPECT_FALSE(StructuredOutputNamed("json").has_value());
}

TEST(DescribeAnswer, EveryKindOfBlockHasItsForm) {
  const tools::ToolAnswer answer =
      tools::testing::BlocksTool().call({.principal = ""}, json::Object());
  EXPECT_EQ(json::Value(DescribeAnswer(answer, kNew, StructuredOutput::kStructured)),
            json::Parse(R"({
    "content": [
      {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
      {"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain",
                                        "text": "text of a"}},
      {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "application/octet-stream",
                                        "blob": "AP8="}},
      {"type": "resource_link", "uri": "file:///c.txt", "name": "c.txt", "mimeType": "text/plain",
       "size": 3}
    ],
    "structuredContent": {"name": "all"},
    "isError": false
  })")
                .value());
  const json::Object old = DescribeAnswer(answer, kOld, StructuredOutput::kAuto);
  EXPECT_EQ(json::Write(old.at("content").as_array().at(4)),
            R"({"type":"text","text":"c.txt: file:///c.txt"})");
}

/// Returns the tokens of tools/list for these groups, as clients estimate them.
std::size_t TokensOf(const std::string& group, std::size_t& count) {
  const auto registry = tools::Registry::Make(tools::AllTools());
  if (!registry.ok()) {
    ADD_FAILURE() << registry.error().message();
    return 0;
  }
  json::Array list;
  const tools::Registry chosen = registry->Select({group}).value();
  for (const tools::Tool& tool : chosen.tools()) {
    list.push_back(DescribeTool(tool, kNew, StructuredOutput::kAuto));
  }
  count = list.size();
  return json::Write(list).size() / 4;
}

// Every conversation pays for the list. Clients refuse or warn at more.
TEST(ToolList, IsShortEnoughForEveryConversation) {
  std::size_t count = 0;
  EXPECT_LE(TokensOf("core", count), 8000U);
  EXPECT_LE(count, 25U);
  EXPECT_LE(TokensOf("all", count), 20000U);
}

}  // namespace
}  // namespace polybox::mcp
