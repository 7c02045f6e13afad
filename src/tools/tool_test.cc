#include "tools/tool.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/write.h"
#include "tools/registry.h"
#include "tools/testing/sample_tools.h"

namespace polybox::tools {
namespace {

ToolAnswer Call(const Tool& tool, std::string_view arguments) {
  return tool.call({.principal = "stdio"}, json::Parse(arguments).value());
}

std::string TextOf(const ToolAnswer& answer) {
  return std::get<TextBlock>(answer.content.at(0)).text;
}

TEST(Tool, AnswersWithTextAndTheSameAsData) {
  const ToolAnswer answer =
      Call(testing::EchoTool(), R"({"text":"ab","times":2,"workspace":"api"})");
  EXPECT_FALSE(answer.is_error);
  EXPECT_EQ(TextOf(answer), "abab");
  EXPECT_EQ(json::Write(answer.structured),
            R"({"text":"abab","workspace":"api","principal":"stdio"})");
}

TEST(Tool, WrongArgumentsAreAnAnswerThatNamesThem) {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {R"({})", "arguments.text is missing"},
      {R"([])", "arguments must be an object, not an array"},
      {R"({"text":1,"times":0})",
       "arguments.text must be a string, not a number; arguments.times must be from 1 to 1000"},
      {R"({"text":"a","worksapce":"x"})",
       "arguments.worksapce is unknown; did you mean \"workspace\"?"},
      {R"({"text":"a","budget_tokens":500})", "arguments.budget_tokens is unknown"},
  };
  for (const auto& [arguments, problem] : rows) {
    const ToolAnswer answer = Call(testing::EchoTool(), arguments);
    EXPECT_TRUE(answer.is_error) << arguments;
    EXPECT_EQ(TextOf(answer), problem) << arguments;
    EXPECT_TRUE(answer.structured.is_null()) << arguments;
  }
}

TEST(Tool, AFailureIsAnAnswerWithAdvice) {
  const ToolAnswer answer = Call(testing::FailTool(), "{}");
  EXPECT_TRUE(answer.is_error);
  EXPECT_EQ(TextOf(answer), "no such file\nTry: ls");
}

TEST(Tool, TheBudgetComesFromTheArgumentOfToolsThatAskForIt) {
  EXPECT_EQ(TextOf(Call(testing::BudgetTool(), R"({"budget_tokens":500})")), "count 500");
  EXPECT_EQ(TextOf(Call(testing::BudgetTool(), "{}")), "count 8000");
}

TEST(Tool, TheSchemasDescribeTheStructsAndTheCommonArguments) {
  EXPECT_EQ(json::Value(testing::EchoTool().input_schema), json::Parse(R"({
    "type": "object",
    "properties": {
      "text": {"type": "string", "minLength": 1, "description": "Text to repeat"},
      "times": {"type": "integer", "minimum": 1, "maximum": 1000,
                "description": "How often", "default": 1},
      "workspace": {"type": "string", "description": "Name of the workspace"}
    },
    "required": ["text"],
    "additionalProperties": false
  })")
                                                               .value());
  EXPECT_EQ(json::Value(testing::BudgetTool().output_schema), json::Parse(R"({
    "type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"],
    "additionalProperties": false
  })")
                                                                  .value());
}

TEST(Registry, IsSortedByNameWhateverTheOrderWas) {
  const Registry registry = testing::SampleRegistry();
  std::string names;
  for (const Tool& tool : registry.tools()) names += tool.row.name + " ";
  EXPECT_EQ(names, "blocks budget echo fail throw wait ");
}

TEST(Registry, FindsByTheExactName) {
  const Registry registry = testing::SampleRegistry();
  ASSERT_NE(registry.Find("echo"), nullptr);
  EXPECT_EQ(registry.Find("echo")->row.title, "Echo");
  for (const char* name : {"", "Echo", "ech", "echoo", "zz"}) {
    EXPECT_EQ(registry.Find(name), nullptr) << name;
  }
}

TEST(Registry, GroupsAreChosenByName) {
  const Registry registry = testing::SampleRegistry();
  EXPECT_EQ(registry.Groups(), (std::vector<std::string>{"core", "more"}));
  EXPECT_EQ(registry.Select({"core"})->tools().size(), 1U);
  EXPECT_EQ(registry.Select({"more", "core"})->tools().size(), 6U);
  EXPECT_EQ(registry.Select({"all"})->tools().size(), 6U);
  EXPECT_EQ(registry.ReadOnly().tools().size(), 1U);
  Tool needs_commands = testing::EchoTool();
  needs_commands.row.needs = Needs::kCommands;
  EXPECT_TRUE(Registry::Make({needs_commands})->ReadOnly().tools().empty());
  EXPECT_EQ(registry.Select({"mroe"}).error().message(),
            "unknown group of tools \"mroe\": expected all or core, more; did you mean \"more\"?");
}

TEST(Registry, ARowThatBreaksARuleIsRefused) {
  const std::vector<std::pair<Row, const char*>> rows = {
      {{"a b", "t", "d", "core", {}},
       "tool a b: the name must have 1 to 48 letters, digits, \"_\", \"-\" or \".\""},
      {{"a", "", "d", "core", {}}, "tool a: a title and a description are needed"},
      {{"a", "t", "d", "all", {}},
       "tool a: the group must be a word of a-z, 0-9 and _, and not \"all\""},
      {{"a",
        "t",
        "d",
        "core",
        {.read_only = true, .destructive = true, .idempotent = true, .open_world = false}},
       "tool a: a tool that only reads is not destructive, and it is idempotent"},
  };
  for (const auto& [row, complaint] : rows) {
    Tool tool = testing::EchoTool();
    tool.row = row;
    EXPECT_EQ(Registry::Make({tool}).error().message(), complaint);
  }
  EXPECT_EQ(Registry::Make({testing::EchoTool(), testing::EchoTool()}).error().message(),
            "two tools have the name echo");
}

}  // namespace
}  // namespace polybox::tools
