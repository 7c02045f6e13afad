#include "mcp/dispatcher.h"

#include <algorithm>
#include <exception>
#include <iterator>

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/printable.h"
#include "json/write.h"

namespace polybox::mcp {
namespace {

constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kServerInfoKey = "io.modelcontextprotocol/serverInfo";
/// Replaces the setting `structured-output` for one call.
constexpr std::string_view kFormKey = "polybox/structuredOutput";
// The lists change only with a new start of polybox, which a client of stdio notices; a gateway
// over HTTP asks again after five minutes.
constexpr std::int64_t kListTtlMs = 300'000;

RpcError BadParams(std::string message) {
  return {Code::kInvalidParams, std::move(message)};
}

RpcError NoMethod(const Request& request) {
  return {Code::kMethodNotFound,
          fmt::format("unknown method \"{}\"", Printable(request.method, 80))};
}

/// Returns `params._meta`; null if there is none.
const json::Object* MetaOf(const Request& request) {
  const json::Value* meta = request.params.if_contains("_meta");
  return meta == nullptr ? nullptr : meta->if_object();
}

const json::Value* MetaMember(const Request& request, std::string_view key) {
  const json::Object* meta = MetaOf(request);
  return meta == nullptr ? nullptr : meta->if_contains(key);
}

/// Returns how the request came. The trace context of `_meta` is nearer to the call than that of
/// the header, which `transport` has.
tools::CallOrigin OriginOf(const Request& request, Version version,
                           const tools::CallOrigin& transport) {
  tools::CallOrigin origin = transport;
  origin.method = request.method;
  origin.protocol_version = NameOf(version);
  origin.request_id = json::Write(request.id);
  const json::Value* parent = MetaMember(request, "traceparent");
  if (parent == nullptr || !parent->is_string()) return origin;
  origin.trace_parent = parent->get_string();
  const json::Value* state = MetaMember(request, "tracestate");
  const bool has_state = state != nullptr && state->is_string();
  origin.trace_state = has_state ? std::string(state->get_string()) : "";
  return origin;
}

std::variant<Version, RpcError> ModernVersionOf(const Request& request, const json::Value& named) {
  if (!named.is_string()) {
    return BadParams(fmt::format("_meta[\"{}\"] must be a string", kVersionKey));
  }
  const std::string_view name = named.get_string();
  const std::optional<Version> version = VersionNamed(name);
  if (!version || !IsModern(*version)) {
    json::Array supported;
    for (const std::string_view each : VersionNames()) supported.emplace_back(each);
    return RpcError{Code::kUnsupportedVersion, "Unsupported protocol version",
                    json::Object{{"supported", std::move(supported)}, {"requested", name}}};
  }
  const json::Value* capabilities = MetaMember(request, kCapabilitiesKey);
  if (capabilities == nullptr || !capabilities->is_object()) {
    return BadParams(fmt::format("_meta[\"{}\"] must be an object", kCapabilitiesKey));
  }
  return *version;
}

using DocumentMethod = Outcome (Documents::*)(const Request&, Version, const tools::Context&) const;

/// Returns the function for a method, or null if there is nothing that it could be about.
DocumentMethod FindDocumentMethod(std::string_view method, const Documents& documents) {
  struct Row {
    std::string_view method;
    DocumentMethod function;
    bool (Documents::*exists)() const;
  };
  static constexpr Row kRows[] = {
      {"resources/list", &Documents::ListResources, &Documents::has_sources},
      {"resources/templates/list", &Documents::ListTemplates, &Documents::has_sources},
      {"resources/read", &Documents::ReadResource, &Documents::has_sources},
      {"prompts/list", &Documents::ListPrompts, &Documents::has_prompts},
      {"prompts/get", &Documents::GetPrompt, &Documents::has_prompts},
      {"completion/complete", &Documents::Complete, &Documents::completes},
  };
  const auto* found = std::ranges::find(kRows, method, &Row::method);
  const bool exists = found != std::end(kRows) && (documents.*(found->exists))();
  return exists ? found->function : nullptr;
}

std::variant<Version, RpcError> InitialVersionOf(const Request& request) {
  const json::Value* named = request.params.if_contains("protocolVersion");
  if (named == nullptr || !named->is_string()) return BadParams("protocolVersion must be a string");
  const Version version = VersionNamed(named->get_string()).value_or(kLatestLegacy);
  return IsModern(version) ? kLatestLegacy : version;
}

}  // namespace

Dispatcher::Dispatcher(DispatcherOptions options, const log::Logger& log)
    : options_(std::move(options)),
      documents_(std::move(options_.sources), std::move(options_.prompts)),
      has_tasks_(std::ranges::any_of(
          options_.tools.tools(),
          [](const tools::Tool& tool) { return tool.row.tasks != tools::TaskUse::kNever; })),
      log_(log) {}

bool Dispatcher::TakesTime(const Request& request) {
  constexpr std::string_view kSlow[] = {
      "tools/call",  "resources/list",      "resources/read",      "resources/subscribe",
      "prompts/get", "completion/complete", "subscriptions/listen"};
  return std::ranges::find(kSlow, request.method) != std::end(kSlow);
}

tools::TaskUse Dispatcher::TaskUseOf(const Request& request) const {
  const json::Value* named = request.params.if_contains("name");
  const bool has_name = named != nullptr && named->is_string();
  const tools::Tool* tool = has_name ? options_.tools.Find(named->get_string()) : nullptr;
  return tool == nullptr ? tools::TaskUse::kNever : tool->row.tasks;
}

std::variant<Version, RpcError> Dispatcher::VersionOf(const Request& request,
                                                      std::optional<Version> settled) const {
  if (const json::Value* named = MetaMember(request, kVersionKey)) {
    return ModernVersionOf(request, *named);
  }
  if (request.method == "initialize") return InitialVersionOf(request);
  if (settled) return *settled;
  // A legacy client may ping before the handshake.
  if (request.method == "ping") return kLatestLegacy;
  return BadParams(
      fmt::format("_meta[\"{}\"] is missing; clients of versions up to {} send initialize first",
                  kVersionKey, NameOf(kLatestLegacy)));
}

Outcome Dispatcher::Answer(const Request& request, Version version,
                           const tools::Context& context) const {
  try {
    Outcome outcome = AnswerUnguarded(request, version, context);
    Scrub(request, outcome);
    if (auto* result = std::get_if<json::Object>(&outcome)) {
      return Complete(std::move(*result), version);
    }
    return outcome;
  } catch (const std::exception& failure) {
    log_.Error("an exception ended a request",
               {{"method", Printable(request.method, 80)}, {"exception", failure.what()}});
  } catch (...) {
    log_.Error("an unknown exception ended a request", {{"method", Printable(request.method, 80)}});
  }
  return RpcError{Code::kInternalError, "internal error; the log of polybox has the cause"};
}

Outcome Dispatcher::AnswerUnguarded(const Request& request, Version version,
                                    const tools::Context& context) const {
  if (request.method == "tools/call") return CallTool(request, version, context);
  if (request.method == "tools/list") return ListTools(request, version);
  if (const DocumentMethod answer = FindDocumentMethod(request.method, documents_)) {
    return (documents_.*answer)(request, version, context);
  }
  if (!IsModern(version) && request.method == "initialize") return Initialize(version);
  if (IsModern(version) && request.method == "server/discover") return Discover();
  if (!IsModern(version) && request.method == "ping") return json::Object();
  return NoMethod(request);
}

void Dispatcher::Scrub(json::Value& value) const {
  if (options_.scrub) options_.scrub(value);
}

void Dispatcher::Scrub(const Request& request, Outcome& outcome) const {
  if (!options_.scrub) return;
  if (auto* error = std::get_if<RpcError>(&outcome)) {
    json::Value message = json::Text(error->message);
    options_.scrub(message);
    error->message = message.get_string();
    return options_.scrub(error->data);
  }
  // These lists are ours, and long.
  if (request.method == "tools/call" || request.method == "tools/list") return;
  json::Value result = std::get<json::Object>(std::move(outcome));
  options_.scrub(result);
  outcome = std::move(result.as_object());
}

json::Object Dispatcher::ServerInfo(Version version) const {
  json::Object info = {{"name", "polybox"}, {"version", options_.version}};
  if (HasStructuredContent(version)) info["title"] = "polybox";
  return info;
}

json::Object Dispatcher::Complete(json::Object result, Version version,
                                  std::string_view type) const {
  if (!IsModern(version)) return result;
  result["resultType"] = type;
  result["_meta"] = json::Object{{kServerInfoKey, ServerInfo(version)}};
  return result;
}

json::Object Dispatcher::Capabilities(Version version) const {
  json::Object all = {{"tools", json::Object()}, {"logging", json::Object()}};
  if (documents_.has_sources()) all["resources"] = json::Object{{"subscribe", true}};
  if (documents_.has_prompts()) all["prompts"] = json::Object();
  if (documents_.completes() && HasAnnotations(version)) all["completions"] = json::Object();
  if (has_tasks_ && AsksForTasks(version)) {
    const json::Object none;
    all["tasks"] =
        json::Object{{"list", none},
                     {"cancel", none},
                     {"requests", json::Object{{"tools", json::Object{{"call", none}}}}}};
  }
  if (has_tasks_ && IsModern(version)) {
    all["extensions"] = json::Object{{kTasksExtension, json::Object()}};
  }
  return all;
}

Outcome Dispatcher::Initialize(Version version) const {
  json::Object result = {{"protocolVersion", NameOf(version)},
                         {"capabilities", Capabilities(version)},
                         {"serverInfo", ServerInfo(version)}};
  if (!options_.instructions.empty()) result["instructions"] = options_.instructions;
  return result;
}

Outcome Dispatcher::Discover() const {
  json::Array versions;
  for (const std::string_view name : VersionNames()) versions.emplace_back(name);
  json::Object result = {{"supportedVersions", std::move(versions)},
                         {"capabilities", Capabilities(Version::k2026_07_28)},
                         {"ttlMs", kListTtlMs},
                         {"cacheScope", "private"}};
  if (!options_.instructions.empty()) result["instructions"] = options_.instructions;
  return result;
}

Outcome Dispatcher::ListTools(const Request& request, Version version) const {
  // All tools are on one page, so polybox never gave a cursor.
  if (const json::Value* cursor = request.params.if_contains("cursor");
      cursor != nullptr && !cursor->is_null()) {
    return BadParams("unknown cursor");
  }
  json::Array tools;
  for (const tools::Tool& tool : options_.tools.tools()) {
    tools.push_back(DescribeTool(tool, version, options_.structured_output));
  }
  json::Object result = {{"tools", std::move(tools)}};
  if (IsModern(version)) {
    result["ttlMs"] = kListTtlMs;
    result["cacheScope"] = "private";
  }
  return result;
}

Outcome Dispatcher::CallTool(const Request& request, Version version,
                             const tools::Context& context) const {
  const json::Value* named = request.params.if_contains("name");
  if (named == nullptr || !named->is_string()) return BadParams("name must be a string");
  const std::string_view name = named->get_string();
  const tools::Tool* tool = options_.tools.Find(name);
  if (tool == nullptr) {
    std::vector<std::string_view> known;
    for (const tools::Tool& each : options_.tools.tools()) known.emplace_back(each.row.name);
    return BadParams(fmt::format("unknown tool \"{}\"{}", Printable(name, 80),
                                 name.size() > 80 ? "" : DidYouMean(name, known)));
  }
  StructuredOutput form = options_.structured_output;
  if (const json::Value* word = MetaMember(request, kFormKey)) {
    const auto wanted =
        word->is_string() ? StructuredOutputNamed(word->get_string()) : std::nullopt;
    if (!wanted) {
      return BadParams(fmt::format(
          "_meta[\"{}\"] must be one of auto, both, text, structured, mirror", kFormKey));
    }
    form = *wanted;
  }
  const json::Value* arguments = request.params.if_contains("arguments");
  const bool given = arguments != nullptr && !arguments->is_null();
  tools::Context own = context;
  own.origin = OriginOf(request, version, context.origin);
  return DescribeAnswer(tool->call(own, given ? *arguments : json::Value(json::Object())), version,
                        form);
}

}  // namespace polybox::mcp
