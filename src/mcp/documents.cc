#include "mcp/documents.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/printable.h"
#include "json/write.h"
#include "mcp/tool_json.h"

namespace polybox::mcp {
namespace {

/// As many values as MCP allows.
constexpr std::size_t kMostValues = 100;
constexpr std::size_t kShownUri = 400;
/// Lists of what the caller has, such as the output of commands, change at any time.
constexpr std::int64_t kNoTtlMs = 0;
/// Lists that change only with a new start of polybox.
constexpr std::int64_t kFixedTtlMs = 300'000;
constexpr std::string_view kNextUriKey = "polybox/nextUri";

RpcError BadParams(std::string message) {
  return {Code::kInvalidParams, std::move(message)};
}

json::Object Cached(json::Object result, Version version, std::int64_t ttl_ms) {
  if (!IsModern(version)) return result;
  result["ttlMs"] = ttl_ms;
  result["cacheScope"] = "private";
  return result;
}

/// All entries are on one page, so polybox never gave a cursor.
std::optional<RpcError> RefuseCursor(const Request& request) {
  const json::Value* cursor = request.params.if_contains("cursor");
  if (cursor == nullptr || cursor->is_null()) return std::nullopt;
  return BadParams("unknown cursor");
}

json::Object Describe(const tools::ResourceInfo& info) {
  json::Object entry = {{"uri", json::Text(info.uri)}, {"name", json::Text(info.name)}};
  if (!info.description.empty()) entry["description"] = json::Text(info.description);
  if (!info.mime_type.empty()) entry["mimeType"] = info.mime_type;
  if (info.size) entry["size"] = *info.size;
  return entry;
}

json::Object Describe(const tools::Prompt& prompt, Version version) {
  json::Object entry = {{"name", prompt.name}, {"description", prompt.description}};
  if (HasStructuredContent(version)) entry["title"] = prompt.title;
  json::Array arguments;
  for (const tools::PromptArgument& argument : prompt.arguments) {
    arguments.push_back(json::Object{{"name", argument.name},
                                     {"description", argument.description},
                                     {"required", argument.required}});
  }
  if (!arguments.empty()) entry["arguments"] = std::move(arguments);
  return entry;
}

json::Object Describe(const tools::Completions& completions) {
  const std::size_t count = std::min(completions.values.size(), kMostValues);
  json::Array values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(json::Text(completions.values[i]));
  return {{"values", std::move(values)},
          {"hasMore", completions.has_more || count < completions.values.size()}};
}

/// Reads the arguments of prompts/get.
std::variant<tools::PromptValues, RpcError> ValuesOf(const Request& request,
                                                     const tools::Prompt& prompt) {
  tools::PromptValues values;
  const json::Value* given = request.params.if_contains("arguments");
  const json::Object* members = given == nullptr ? nullptr : given->if_object();
  for (const tools::PromptArgument& argument : prompt.arguments) {
    const json::Value* value = members == nullptr ? nullptr : members->if_contains(argument.name);
    if (value != nullptr && value->is_string()) {
      values[argument.name] = std::string(value->get_string());
    } else if (value != nullptr || argument.required) {
      return BadParams(fmt::format("arguments.{} must be a string", argument.name));
    }
  }
  return values;
}

}  // namespace

std::variant<std::string_view, RpcError> TextParam(const json::Object& params,
                                                   std::string_view name) {
  const json::Value* found = params.if_contains(name);
  if (found == nullptr || !found->is_string()) {
    return BadParams(fmt::format("{} must be a string", name));
  }
  return std::string_view(found->get_string());
}

RpcError NoResource(Version version, std::string_view uri, std::string_view why) {
  return {IsModern(version) ? Code::kInvalidParams : Code::kResourceNotFound,
          fmt::format("Resource not found: {}", why), json::Object{{"uri", json::Text(uri)}}};
}

Outcome Documents::ListResources(const Request& request, Version version,
                                 const tools::Context& context) const {
  if (auto refused = RefuseCursor(request)) return *std::move(refused);
  json::Array resources;
  for (const auto& source : sources_) {
    for (const tools::ResourceInfo& info : source->List(context)) {
      resources.push_back(Describe(info));
    }
  }
  return Cached({{"resources", std::move(resources)}}, version, kNoTtlMs);
}

Outcome Documents::ListTemplates(const Request& request, Version version,
                                 const tools::Context& /*context*/) const {
  if (auto refused = RefuseCursor(request)) return *std::move(refused);
  json::Array templates;
  for (const auto& source : sources_) {
    for (const tools::ResourceTemplate& each : source->Templates()) {
      json::Object entry = {{"uriTemplate", each.uri_template}, {"name", each.name}};
      if (!each.description.empty()) entry["description"] = each.description;
      if (!each.mime_type.empty()) entry["mimeType"] = each.mime_type;
      templates.push_back(std::move(entry));
    }
  }
  return Cached({{"resourceTemplates", std::move(templates)}}, version, kFixedTtlMs);
}

Outcome Documents::ReadResource(const Request& request, Version version,
                                const tools::Context& context) const {
  const auto named = TextParam(request.params, "uri");
  if (const auto* wrong = std::get_if<RpcError>(&named)) return *wrong;
  const std::string_view uri = std::get<std::string_view>(named);
  for (const auto& source : sources_) {
    const std::optional<Result<tools::ResourceText>> read = source->Read(context, uri);
    if (!read) continue;
    if (!read->ok()) {
      const Error& error = read->error();
      const std::string why =
          fmt::format("{}{}{}", error.message(), error.fix().empty() ? "" : "; ", error.fix());
      if (error.kind() == ErrorKind::kNotFound) return NoResource(version, uri, why);
      return RpcError{Code::kInvalidParams, why, json::Object{{"uri", json::Text(uri)}}};
    }
    json::Object contents = DescribeContents(read->value().content);
    if (!read->value().next_uri.empty()) {
      contents["_meta"] = json::Object{{kNextUriKey, json::Text(read->value().next_uri)}};
    }
    return Cached({{"contents", json::Array{std::move(contents)}}}, version, kNoTtlMs);
  }
  return NoResource(version, uri, "no documents have such a URI");
}

Outcome Documents::ListPrompts(const Request& request, Version version,
                               const tools::Context& /*context*/) const {
  if (auto refused = RefuseCursor(request)) return *std::move(refused);
  json::Array prompts;
  for (const tools::Prompt& prompt : prompts_) prompts.push_back(Describe(prompt, version));
  return Cached({{"prompts", std::move(prompts)}}, version, kFixedTtlMs);
}

const tools::Prompt* Documents::FindPrompt(std::string_view name) const {
  const auto found = std::ranges::find(prompts_, name, &tools::Prompt::name);
  return found == prompts_.end() ? nullptr : &*found;
}

Outcome Documents::GetPrompt(const Request& request, Version version,
                             const tools::Context& context) const {
  const auto named = TextParam(request.params, "name");
  if (const auto* wrong = std::get_if<RpcError>(&named)) return *wrong;
  const std::string_view name = std::get<std::string_view>(named);
  const tools::Prompt* prompt = FindPrompt(name);
  if (prompt == nullptr) {
    return BadParams(fmt::format("unknown prompt \"{}\"", Printable(name, kShownUri)));
  }
  const auto values = ValuesOf(request, *prompt);
  if (const auto* wrong = std::get_if<RpcError>(&values)) return *wrong;
  const Result<std::vector<tools::Block>> blocks =
      prompt->messages(context, std::get<tools::PromptValues>(values));
  if (!blocks.ok()) return BadParams(blocks.error().message());
  json::Array messages;
  for (const tools::Block& block : *blocks) {
    messages.push_back(json::Object{{"role", "user"}, {"content", DescribeBlock(block, version)}});
  }
  return json::Object{{"description", prompt->description}, {"messages", std::move(messages)}};
}

Outcome Documents::Complete(const Request& request, Version /*version*/,
                            const tools::Context& context) const {
  const json::Value* ref = request.params.if_contains("ref");
  const json::Value* argument = request.params.if_contains("argument");
  if (ref == nullptr || !ref->is_object() || argument == nullptr || !argument->is_object()) {
    return BadParams("ref and argument must be objects");
  }
  const auto name = TextParam(argument->get_object(), "name");
  const auto value = TextParam(argument->get_object(), "value");
  const bool of_prompt = ref->get_object().contains("name");
  const auto target = TextParam(ref->get_object(), of_prompt ? "name" : "uri");
  for (const auto& each : {name, value, target}) {
    if (const auto* wrong = std::get_if<RpcError>(&each)) return *wrong;
  }
  const std::string_view of = std::get<std::string_view>(target);
  const std::string_view variable = std::get<std::string_view>(name);
  const std::string_view begin = std::get<std::string_view>(value);
  tools::Completions found;
  if (of_prompt) {
    const tools::Prompt* prompt = FindPrompt(of);
    if (prompt == nullptr) {
      return BadParams(fmt::format("unknown prompt \"{}\"", Printable(of, kShownUri)));
    }
    if (prompt->complete) found = prompt->complete(context, variable, begin);
  }
  for (const auto& source : sources_) {
    if (of_prompt) break;
    if (auto values = source->Complete(context, of, variable, begin)) found = *std::move(values);
  }
  return json::Object{{"completion", Describe(found)}};
}

Result<std::unique_ptr<tools::Watch>> Documents::WatchFor(const tools::Context& context,
                                                          std::string_view uri,
                                                          std::function<void()> changed) const {
  for (const auto& source : sources_) {
    auto watch = source->WatchFor(context, uri, changed);
    if (watch) return *std::move(watch);
  }
  return Error(ErrorKind::kNotFound, "no documents have such a URI");
}

}  // namespace polybox::mcp
