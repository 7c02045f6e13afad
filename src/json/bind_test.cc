#include "json/bind.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/write.h"

namespace polybox::json {
namespace {

enum class Mode { kFast, kThorough };

std::vector<std::pair<Mode, std::string_view>> NamesOf(Mode /*type*/) {
  return {{Mode::kFast, "fast"}, {Mode::kThorough, "thorough"}};
}

struct Edit {
  std::string old_text;
  std::optional<int> line = {};
  bool operator==(const Edit&) const = default;

  static constexpr auto Members() {
    return std::tuple(Required("old_text", &Edit::old_text, "Text to replace").NotEmpty(),
                      Optional("line", &Edit::line).Min(1));
  }
};

struct Order {
  std::string path;
  std::vector<Edit> edits = {};
  std::map<std::string, std::vector<bool>> flags = {};
  Mode mode = Mode::kFast;
  std::uint8_t level = 3;
  double share = 0.5;
  Value extra = {};
  bool operator==(const Order&) const = default;

  static constexpr auto Members() {
    return std::tuple(
        Required("path", &Order::path, "Path of the file").MaxLength(5),
        Optional("edits", &Order::edits).MaxItems(2), Optional("flags", &Order::flags),
        Optional("mode", &Order::mode), Optional("level", &Order::level).Max(10),
        Optional("share", &Order::share).Min(0).Max(1), Optional("extra", &Order::extra));
  }
};

Value From(std::string_view text) {
  Result<Value> value = Parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? std::move(value).value() : Value();
}

std::string ProblemsOf(std::string_view text) {
  const Result<Order> order = Decode<Order>(From(text), "arguments");
  return order.ok() ? "" : order.error().message();
}

TEST(Decode, ReadsWhatTheStructDescribes) {
  const Result<Order> order = Decode<Order>(
      From(R"({"path":"äöüßx","edits":[{"old_text":"a","line":7},{"old_text":"b","line":null}],
               "flags":{"x":[true,false]},"mode":"thorough","level":10.0,"share":1,"extra":[{}]})"),
      "arguments");
  ASSERT_TRUE(order.ok()) << order.error().message();
  const Order wanted = {.path = "äöüßx",
                        .edits = {{"a", 7}, {"b", std::nullopt}},
                        .flags = {{"x", {true, false}}},
                        .mode = Mode::kThorough,
                        .level = 10,
                        .share = 1.0,
                        .extra = Array{Object{}}};
  EXPECT_EQ(*order, wanted);
}

TEST(Decode, AbsentMembersKeepTheirDefaults) {
  const Result<Order> order = Decode<Order>(From(R"({"path":"a"})"), "arguments");
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(*order, Order{.path = "a"});
}

TEST(Decode, EveryProblemIsNamedWithItsPlace) {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {R"([])", "arguments must be an object, not an array"},
      {R"({})", "arguments.path is missing"},
      {R"({"path":5})", "arguments.path must be a string, not a number"},
      {R"({"path":"123456"})", "arguments.path has 6 characters; at most 5 are allowed"},
      {R"({"path":"a","mode":"thorugh"})",
       "arguments.mode must be one of fast, thorough; did you mean \"thorough\"?"},
      {R"({"path":"a","mode":1})", "arguments.mode must be one of fast, thorough"},
      {R"({"path":"a","level":11})", "arguments.level must be from 0 to 10"},
      {R"({"path":"a","level":-1})", "arguments.level must be from 0 to 10"},
      {R"({"path":"a","level":1e300})", "arguments.level must be from 0 to 10"},
      {R"({"path":"a","level":18446744073709551615})", "arguments.level must be from 0 to 10"},
      {R"({"path":"a","level":1.5})", "arguments.level must be a whole number"},
      {R"({"path":"a","level":"1"})", "arguments.level must be a whole number, not a string"},
      {R"({"path":"a","share":1.5})", "arguments.share must be from 0 to 1"},
      {R"({"path":"a","edits":[{"old_text":"x"},{"old_text":""}]})",
       "arguments.edits[1].old_text must not be empty"},
      {R"({"path":"a","edits":[{"old_text":"x","line":0}]})",
       "arguments.edits[0].line must be from 1 to 2147483647"},
      {R"({"path":"a","edits":[1,2,3]})", "arguments.edits has 3 items; at most 2 are allowed"},
      {R"({"path":"a","flags":{"x":true}})", "arguments.flags.x must be an array, not a boolean"},
      {R"({"path":"a","edit":[]})", "arguments.edit is unknown; did you mean \"edits\"?"},
      {R"({"path":"a","zzzzzz":[]})", "arguments.zzzzzz is unknown"},
      {R"({"path":1,"mode":2})",
       "arguments.path must be a string, not a number; "
       "arguments.mode must be one of fast, thorough"},
  };
  for (const auto& [text, problems] : rows) EXPECT_EQ(ProblemsOf(text), problems) << text;
}

TEST(Decode, NamesOfMembersAreEscapedAndProblemsCounted) {
  std::string text = R"({"path":"a","x\n\u001b":0)";
  for (int i = 0; i < 1000; ++i)
    text += ",\"k" + std::to_string(i) + std::string(300, '=') + "\":0";
  const std::string problems = ProblemsOf(text + "}");
  EXPECT_TRUE(problems.starts_with("arguments.x\\n\\u001b is unknown; arguments.k0==="))
      << problems;
  EXPECT_TRUE(problems.ends_with("; and 993 more")) << problems;
  EXPECT_LT(problems.size(), 2000U);
}

TEST(Decode, UnknownMembersCanBeSkipped) {
  EXPECT_TRUE(Decode<Order>(From(R"({"path":"a","new":1})"), "file", UnknownMembers::kSkip).ok());
}

TEST(Encode, IsReadBackAsTheSame) {
  const Order order = {.path = "p",
                       .edits = {{"a", 1}, {"b", std::nullopt}},
                       .flags = {{"f", {true}}},
                       .mode = Mode::kThorough,
                       .extra = 5};
  const Value value = Encode(order);
  EXPECT_EQ(Write(value),
            R"({"path":"p","edits":[{"old_text":"a","line":1},{"old_text":"b"}],)"
            R"("flags":{"f":[true]},"mode":"thorough","level":3,"share":0.5,"extra":5})");
  const Result<Order> again = Decode<Order>(value, "order");
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_EQ(*again, order);
}

TEST(SchemaOf, SaysWhatDecodeAccepts) {
  EXPECT_EQ(Value(SchemaOf<Order>()), From(R"({
    "type": "object",
    "properties": {
      "path": {"type": "string", "maxLength": 5, "description": "Path of the file"},
      "edits": {
        "type": "array", "maxItems": 2, "default": [],
        "items": {
          "type": "object",
          "properties": {
            "old_text": {"type": "string", "minLength": 1, "description": "Text to replace"},
            "line": {"type": "integer", "minimum": 1, "maximum": 2147483647}
          },
          "required": ["old_text"],
          "additionalProperties": false
        }
      },
      "flags": {
        "type": "object", "default": {},
        "additionalProperties": {"type": "array", "items": {"type": "boolean"}}
      },
      "mode": {"type": "string", "enum": ["fast", "thorough"], "default": "fast"},
      "level": {"type": "integer", "minimum": 0, "maximum": 10, "default": 3},
      "share": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
      "extra": {"default": null}
    },
    "required": ["path"],
    "additionalProperties": false
  })"));
}

}  // namespace
}  // namespace polybox::json
