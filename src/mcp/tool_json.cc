#include "mcp/tool_json.h"

#include <algorithm>
#include <array>

#include "json/write.h"
#include "mcp/base64.h"

namespace polybox::mcp {
namespace {

constexpr std::array<std::pair<std::string_view, StructuredOutput>, 5> kForms = {
    std::pair{"auto", StructuredOutput::kAuto}, {"both", StructuredOutput::kBoth},
    {"text", StructuredOutput::kText},          {"structured", StructuredOutput::kStructured},
    {"mirror", StructuredOutput::kMirror},
};

/// Tells Claude Code not to cut the answer of a tool that keeps to a budget. The value is the most
/// that this client accepts.
constexpr std::string_view kLongestResultKey = "anthropic/maxResultSizeChars";
constexpr std::int64_t kLongestResult = 500'000;

/// Returns the form that `kAuto` stands for; every other form is itself.
StructuredOutput Settle(StructuredOutput form, Version version) {
  if (form != StructuredOutput::kAuto) return form;
  return HasStructuredContent(version) ? StructuredOutput::kBoth : StructuredOutput::kText;
}

json::Object TextContent(std::string_view text) {
  return {{"type", "text"}, {"text", json::Text(text)}};
}

/// Writes a block as an item of `content`.
struct WriteBlock {
  Version version;

  json::Object operator()(const tools::TextBlock& block) const { return TextContent(block.text); }
  json::Object operator()(const tools::ImageBlock& block) const {
    return {{"type", "image"}, {"data", Base64(block.bytes)}, {"mimeType", block.mime_type}};
  }
  json::Object operator()(const tools::AudioBlock& block) const {
    if (!HasAudio(version)) return TextContent("(a sound of the type " + block.mime_type + ")");
    return {{"type", "audio"}, {"data", Base64(block.bytes)}, {"mimeType", block.mime_type}};
  }
  json::Object operator()(const tools::ResourceBlock& block) const {
    return {{"type", "resource"}, {"resource", DescribeContents(block)}};
  }
  json::Object operator()(const tools::ResourceLinkBlock& block) const {
    if (!HasStructuredContent(version)) return TextContent(block.name + ": " + block.uri);
    json::Object link = {{"type", "resource_link"},
                         {"uri", json::Text(block.uri)},
                         {"name", json::Text(block.name)}};
    if (!block.description.empty()) link["description"] = json::Text(block.description);
    if (!block.mime_type.empty()) link["mimeType"] = block.mime_type;
    if (block.size) link["size"] = *block.size;
    return link;
  }
};

json::Object DescribeAnnotations(const tools::Row& row) {
  return {{"title", row.title},
          {"readOnlyHint", row.annotations.read_only},
          {"destructiveHint", row.annotations.destructive},
          {"idempotentHint", row.annotations.idempotent},
          {"openWorldHint", row.annotations.open_world}};
}

}  // namespace

std::optional<StructuredOutput> StructuredOutputNamed(std::string_view word) {
  const auto* found =
      std::ranges::find(kForms, word, &std::pair<std::string_view, StructuredOutput>::first);
  return found == kForms.end() ? std::nullopt : std::optional(found->second);
}

json::Object DescribeTool(const tools::Tool& tool, Version version, StructuredOutput form) {
  json::Object entry = {{"name", tool.row.name}};
  // Later versions have a place of its own for the title; saying it twice costs tokens.
  json::Object annotations = DescribeAnnotations(tool.row);
  if (HasStructuredContent(version)) {
    entry["title"] = tool.row.title;
    annotations.erase("title");
  }
  entry["description"] = tool.row.description;
  entry["inputSchema"] = tool.input_schema;
  if (HasStructuredContent(version) && Settle(form, version) != StructuredOutput::kText) {
    entry["outputSchema"] = tool.output_schema;
  }
  if (HasAnnotations(version)) entry["annotations"] = std::move(annotations);
  if (AsksForTasks(version) && tool.row.tasks != tools::TaskUse::kNever) {
    const bool must = tool.row.tasks == tools::TaskUse::kMust;
    entry["execution"] = json::Object{{"taskSupport", must ? "required" : "optional"}};
  }
  if (HasStructuredContent(version) && tool.takes_budget) {
    entry["_meta"] = json::Object{{kLongestResultKey, kLongestResult}};
  }
  return entry;
}

json::Object DescribeContents(const tools::ResourceBlock& block) {
  json::Object contents = {{"uri", json::Text(block.uri)}, {"mimeType", block.mime_type}};
  if (block.form == tools::ResourceBlock::Form::kText) {
    contents["text"] = json::Text(block.content);
  } else {
    contents["blob"] = Base64(block.content);
  }
  return contents;
}

json::Object DescribeBlock(const tools::Block& block, Version version) {
  return std::visit(WriteBlock{version}, block);
}

json::Object DescribeAnswer(const tools::ToolAnswer& answer, Version version,
                            StructuredOutput form) {
  // The text of an error is all that there is to say.
  const StructuredOutput settled =
      answer.is_error ? StructuredOutput::kText : Settle(form, version);
  const bool own_text = settled == StructuredOutput::kText || settled == StructuredOutput::kBoth;
  json::Array content;
  if (settled == StructuredOutput::kMirror) {
    content.push_back(TextContent(json::Write(answer.structured)));
  }
  for (const tools::Block& block : answer.content) {
    if (!own_text && std::holds_alternative<tools::TextBlock>(block)) continue;
    content.push_back(DescribeBlock(block, version));
  }
  json::Object result = {{"content", std::move(content)}};
  if (settled != StructuredOutput::kText) result["structuredContent"] = answer.structured;
  result["isError"] = answer.is_error;
  return result;
}

}  // namespace polybox::mcp
