#include "tools/reference.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "json/write.h"

namespace polybox::tools {
namespace {

/// The text before the tables. The page is generated, so this text is edited here.
constexpr std::string_view kHead = R"(# Tools

Made from the files `src/tools/*_tool.cc` by `make docs`; do not edit.

`polybox mcp` offers these tools to coding agents. The setting `tools` chooses groups: `core` is the default, `all` is
everything. With the setting `readonly` only the tools that read are offered. Every tool takes `workspace`, the name of
the workspace that it works in, if there are several. A tool that takes `budget_tokens` keeps its answer to that length
(a token counts as four characters).

An answer has a short text for the model and the same as data: the table of its result. A call that fails gives a text that
says why and what to do.
)";

/// Returns the type of a schema in a few words: "string", "integer, 1 to 10", "array of object".
std::string TypeOf(const json::Object& schema) {
  const json::Value* type = schema.if_contains("type");
  std::string text = type == nullptr ? "any" : std::string(type->get_string());
  if (const json::Value* items = schema.if_contains("items")) {
    text += " of " + TypeOf(items->as_object());
  }
  if (const json::Value* names = schema.if_contains("enum")) {
    std::vector<std::string> words;
    for (const json::Value& name : names->as_array()) words.emplace_back(name.get_string());
    text = fmt::format("`{}`", fmt::join(words, "`, `"));
  }
  const json::Value* least = schema.if_contains("minimum");
  const json::Value* most = schema.if_contains("maximum");
  if (least != nullptr && most != nullptr) {
    text += fmt::format(", {} to {}", json::Write(*least), json::Write(*most));
  } else if (least != nullptr) {
    text += fmt::format(", at least {}", json::Write(*least));
  } else if (most != nullptr) {
    text += fmt::format(", at most {}", json::Write(*most));
  }
  return text;
}

/// Returns whether the schema of an object requires the member `name`.
bool IsRequired(const json::Object& schema, std::string_view name) {
  const json::Value* required = schema.if_contains("required");
  return required != nullptr && std::ranges::any_of(required->as_array(), [&](const auto& each) {
           return each.get_string() == name;
         });
}

/// A cell of a table must not hold the character that separates cells.
std::string Cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

/// Returns the default as a cell of the table; "required" for a member that has none.
std::string DefaultOf(const json::Object& schema, const std::string& name) {
  if (IsRequired(schema, name)) return "required";
  const json::Object& member = schema.at("properties").at(name).as_object();
  const json::Value* value = member.if_contains("default");
  return value == nullptr ? "" : fmt::format("`{}`", Cell(json::Write(*value)));
}

/// Returns the description of a member as a cell of the table; "" if it has none.
std::string DocOf(const json::Object& member) {
  const json::Value* doc = member.if_contains("description");
  return doc == nullptr ? "" : Cell(doc->get_string());
}

/// Returns the rows of a schema's members. The members of a nested object follow the row of
/// that object, as `a.b`; the members of an object in a list as `a[].b`.
std::string RowsOf(const json::Object& schema, const std::string& prefix) {
  std::string text;
  for (const auto& entry : schema.at("properties").as_object()) {
    const std::string name(entry.key());
    if (prefix.empty() && name == "workspace") continue;
    const json::Object& member = entry.value().as_object();
    text += fmt::format("| `{}{}` | {} | {} | {} |\n", prefix, name, TypeOf(member),
                        DefaultOf(schema, name), DocOf(member));
    const json::Value* items = member.if_contains("items");
    const json::Object& inner = items == nullptr ? member : items->as_object();
    if (!inner.contains("properties")) continue;
    text += RowsOf(inner, prefix + name + (items == nullptr ? "." : "[]."));
  }
  return text;
}

/// Returns what the annotations promise about a tool, in words.
std::string Promises(const Annotations& annotations) {
  std::string text = annotations.read_only ? "reads only" : "writes";
  if (annotations.destructive) text += ", may overwrite or remove";
  if (annotations.idempotent && !annotations.read_only) text += ", twice is as once";
  text += annotations.open_world ? ", may reach beyond the workspace" : "";
  return text;
}

/// Returns the part of the page about one tool: its text, its arguments and its results.
std::string Section(const Tool& tool) {
  std::string text = fmt::format("\n### {}\n\n{}. {} ({}.)\n", tool.row.name, tool.row.title,
                                 tool.row.description, Promises(tool.row.annotations));
  const std::string arguments = RowsOf(tool.input_schema, "");
  if (!arguments.empty()) {
    text += "\n| argument | type | default | meaning |\n|---|---|---|---|\n" + arguments;
  }
  const std::string results = RowsOf(tool.output_schema, "");
  if (!results.empty()) {
    text += "\n| result | type | default | meaning |\n|---|---|---|---|\n" + results;
  }
  return text;
}

}  // namespace

std::string ReferencePage(const Registry& registry) {
  std::string text(kHead);
  for (const std::string& group : registry.Groups()) {
    text += fmt::format("\n## Group `{}`\n", group);
    for (const Tool& tool : registry.tools()) {
      if (tool.row.group == group) text += Section(tool);
    }
  }
  return text;
}

}  // namespace polybox::tools
