#include "mcp/http_post.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/printable.h"
#include "mcp/base64.h"

namespace polybox::mcp {
namespace {

constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
// How MCP marks an encoded header field.
constexpr std::string_view kEncodedBegin = "=?base64?";
constexpr std::string_view kEncodedEnd = "?=";

/// Returns the text of a member, or nothing if there is no such member or it is no text.
std::optional<std::string_view> TextOf(const json::Object* object, std::string_view name) {
  const json::Value* found = object == nullptr ? nullptr : object->if_contains(name);
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return std::string_view(found->get_string());
}

const json::Object* ObjectIn(const json::Object* object, std::string_view name) {
  const json::Value* found = object == nullptr ? nullptr : object->if_contains(name);
  return found == nullptr ? nullptr : found->if_object();
}

bool IsMethod(const json::Value& message, std::string_view method) {
  return TextOf(message.if_object(), "method") == method;
}

bool IsRequest(const json::Value& message) {
  const json::Object* object = message.if_object();
  return object != nullptr && object->contains("id") && object->contains("method");
}

/// Returns the member of `params` that Mcp-Name repeats; "" for a method without one.
std::string_view NameMember(std::string_view method) {
  if (method == "tools/call" || method == "prompts/get") return "name";
  if (method == "tasks/get" || method == "tasks/update" || method == "tasks/cancel") {
    return "taskId";
  }
  return method == "resources/read" ? "uri" : "";
}

/// Returns whether the header field says `text`, as it is or encoded. A text that looks encoded
/// must be encoded.
bool Says(std::string_view field, std::string_view text) {
  const bool encoded = field.starts_with(kEncodedBegin) && field.ends_with(kEncodedEnd) &&
                       field.size() >= kEncodedBegin.size() + kEncodedEnd.size();
  if (!encoded) return field == text;
  field.remove_prefix(kEncodedBegin.size());
  field.remove_suffix(kEncodedEnd.size());
  return field == Base64(text);
}

std::optional<RpcError> Compare(std::string_view name, std::string_view field,
                                std::string_view wanted) {
  if (field.empty()) {
    return RpcError{Code::kHeaderMismatch, fmt::format("Header mismatch: {} is missing", name)};
  }
  if (Says(field, wanted)) return std::nullopt;
  return RpcError{Code::kHeaderMismatch,
                  fmt::format("Header mismatch: {} is '{}', but the body has '{}'", name,
                              Printable(field, 80), Printable(wanted, 80))};
}

int StatusOfError(std::int64_t code, const PostFacts& facts, std::optional<Version> settled) {
  switch (static_cast<Code>(code)) {
    case Code::kParseError:
    case Code::kInvalidRequest:
    case Code::kUnsupportedVersion:
    case Code::kHeaderMismatch:
    case Code::kMissingCapability:
      return 400;
    case Code::kMethodNotFound:
      // Older clients take any status but 200 for a failure of the connection.
      return facts.modern ? 404 : 200;
    case Code::kInvalidParams:
      // 400 if the request does not say how it speaks; otherwise the method refuses its parameters.
      return (facts.modern ? facts.has_modern_meta : settled.has_value()) ? 200 : 400;
    default:
      return 200;
  }
}

}  // namespace

PostFacts LookAt(const json::Value& body) {
  const json::Object* params = ObjectIn(body.if_object(), "params");
  const json::Object* meta = ObjectIn(params, "_meta");
  const json::Array* batch = body.if_array();
  const bool modern = meta != nullptr && meta->contains(kVersionKey);
  return {
      .modern = modern,
      .has_modern_meta = modern && ObjectIn(meta, kCapabilitiesKey) != nullptr,
      .has_request = batch == nullptr ? IsRequest(body) : std::ranges::any_of(*batch, IsRequest),
      .begins_session = batch == nullptr && IsRequest(body) && IsMethod(body, "initialize"),
      .listens = modern && IsRequest(body) && IsMethod(body, "subscriptions/listen")};
}

std::optional<Version> SettledBy(const PostHeaders& headers) {
  if (headers.version.empty()) return Version::k2025_03_26;
  const std::optional<Version> named = VersionNamed(headers.version);
  return named && !IsModern(*named) ? named : std::nullopt;
}

std::optional<RpcError> HeaderMismatch(const json::Value& body, const PostHeaders& headers) {
  const json::Object* message = body.if_object();
  const json::Object* params = ObjectIn(message, "params");
  const std::string_view version = TextOf(ObjectIn(params, "_meta"), kVersionKey).value_or("");
  if (auto wrong = Compare("MCP-Protocol-Version", headers.version, version)) return wrong;
  const std::string_view method = TextOf(message, "method").value_or("");
  if (auto wrong = Compare("Mcp-Method", headers.method, method)) return wrong;
  const std::string_view member = NameMember(method);
  if (member.empty()) return std::nullopt;
  return Compare("Mcp-Name", headers.name, TextOf(params, member).value_or(""));
}

int StatusOf(const json::Value& answer, const PostFacts& facts, std::optional<Version> settled) {
  const json::Object* response = answer.if_object();
  const json::Object* error = ObjectIn(response, "error");
  if (error == nullptr) return 200;
  if (!response->contains("id")) return 400;
  return StatusOfError(error->at("code").as_int64(), facts, settled);
}

}  // namespace polybox::mcp
