// Tools that answer with each kind of content, that fail, report progress and write to the log.
#include <chrono>
#include <thread>

#include "conformance/fixture_tool.h"

namespace polybox::conformance {
namespace {

using tools::Context;

/// The suite wants to see notifications one after another.
constexpr std::chrono::milliseconds kPause{50};

struct NameArguments {
  std::string name;
  static constexpr auto Members() {
    return std::tuple(json::Required("name", &NameArguments::name));
  }
};

constexpr std::string_view kSchema = R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {"address": {"$anchor": "addressDef", "type": "object",
                        "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
  "properties": {"name": {"type": "string"},
                 "address": {"$ref": "#/$defs/address"},
                 "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                 "phone": {"type": "string"},
                 "email": {"type": "string"}},
  "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
  "then": {"required": ["phone"]},
  "else": {"required": ["email"]},
  "additionalProperties": false
})";

/// A tool whose schema has more than polybox's own schemas.
tools::Tool SchemaTool() {
  tools::Tool tool = FixtureTool(
      "json_schema_2020_12_tool",
      [](const Context& /*context*/, const auto& /*none*/) -> Result<std::vector<tools::Block>> {
        return TextOf("done");
      });
  tool.input_schema = Parsed(kSchema);
  return tool;
}

/// Returns a tool that always answers the same.
tools::Tool FixedTool(std::string name, std::vector<tools::Block> blocks) {
  return FixtureTool(std::move(name),
                     [blocks = std::move(blocks)](const Context& /*context*/, const auto& /*none*/)
                         -> Result<std::vector<tools::Block>> { return blocks; });
}

Result<std::vector<tools::Block>> WithLog(const Context& context, const NoArguments& /*none*/) {
  for (const char* line :
       {"Tool execution started", "Tool processing data", "Tool execution completed"}) {
    if (context.client != nullptr) context.client->Log(tools::LogLevel::kInfo, line);
    std::this_thread::sleep_for(kPause);  // sleeps: the suite wants distance between the lines
  }
  return TextOf("logged three lines");
}

Result<std::vector<tools::Block>> WithProgress(const Context& context,
                                               const NoArguments& /*none*/) {
  for (const double done : {0.0, 50.0, 100.0}) {
    if (context.progress) context.progress({.done = done, .total = 100});
    std::this_thread::sleep_for(kPause);  // sleeps: the suite wants distance between the reports
  }
  return TextOf("reported three times");
}

}  // namespace

std::vector<tools::Tool> ContentTools() {
  const tools::ResourceBlock embedded{"test://embedded-resource", "text/plain",
                                      "This is an embedded resource content."};
  const tools::ResourceBlock mixed{"test://mixed-content-resource", "application/json",
                                   R"({"test":"data","value":123})"};
  return {
      FixedTool("test_simple_text", TextOf("This is a simple text response for testing.")),
      FixedTool("test_image_content", {tools::ImageBlock{SmallPng(), "image/png"}}),
      FixedTool("test_audio_content", {tools::AudioBlock{SmallWav(), "audio/wav"}}),
      FixedTool("test_embedded_resource", {embedded}),
      FixedTool("test_multiple_content_types", {tools::TextBlock{"Multiple content types test:"},
                                                tools::ImageBlock{SmallPng(), "image/png"}, mixed}),
      FixtureTool("test_error_handling",
                  [](const Context& /*context*/,
                     const auto& /*none*/) -> Result<std::vector<tools::Block>> {
                    return Error(ErrorKind::kInvalid,
                                 "This tool intentionally returns an error for testing");
                  }),
      FixtureTool<NameArguments>("greet",
                                 [](const Context& /*context*/, const NameArguments& arguments)
                                     -> Result<std::vector<tools::Block>> {
                                   return TextOf("Hello, " + arguments.name + "!");
                                 }),
      FixtureTool("test_tool_with_logging", WithLog),
      FixtureTool("test_logging_tool", WithLog),
      FixtureTool("test_tool_with_progress", WithProgress),
      SchemaTool(),
  };
}

}  // namespace polybox::conformance
