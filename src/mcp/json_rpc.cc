#include "mcp/json_rpc.h"

#include <fmt/format.h>

#include "json/write.h"

namespace polybox::mcp {
namespace {

Invalid Bad(std::optional<json::Value> id, std::string why) {
  return {std::move(id), {Code::kInvalidRequest, std::move(why)}};
}

/// Reads the client's answer. A result that is no object counts as one without members.
Response ReadResponse(const std::optional<json::Value>& id, json::Object& object) {
  if (json::Value* result = object.if_contains("result")) {
    json::Object* members = result->if_object();
    return {id, members == nullptr ? json::Object() : std::move(*members)};
  }
  const json::Object* error = object.at("error").if_object();
  const json::Value* message = error == nullptr ? nullptr : error->if_contains("message");
  const bool has_text = message != nullptr && message->is_string();
  return {id, RpcError{Code::kInternalError,
                       has_text ? std::string(message->get_string()) : "the client failed"}};
}

json::Object Envelope() {
  return {{"jsonrpc", "2.0"}};
}

}  // namespace

bool IsId(const json::Value& value) {
  return value.is_string() || value.is_int64() || value.is_uint64();
}

std::optional<json::Value> IdOf(const json::Value& message) {
  const json::Object* object = message.if_object();
  const json::Value* id = object == nullptr ? nullptr : object->if_contains("id");
  if (id == nullptr || !IsId(*id)) return std::nullopt;
  return *id;
}

Message ReadMessage(json::Value value) {
  json::Object* object = value.if_object();
  if (object == nullptr) {
    return Bad({}, fmt::format("a message is an object, not {}", json::KindOf(value)));
  }
  const std::optional<json::Value> id = IdOf(value);
  if (const json::Value* found = object->if_contains("id"); found != nullptr && !id) {
    const std::string_view kind = found->is_double() ? "another number" : json::KindOf(*found);
    return Bad({}, fmt::format("an id is a string or an integer of 64 bits, not {}", kind));
  }
  const json::Value* version = object->if_contains("jsonrpc");
  if (version == nullptr || !version->is_string() || version->get_string() != "2.0") {
    return Bad(id, "jsonrpc must be \"2.0\"");
  }
  const json::Value* method = object->if_contains("method");
  if (method == nullptr && (object->contains("result") || object->contains("error"))) {
    return ReadResponse(id, *object);
  }
  if (method == nullptr || !method->is_string()) return Bad(id, "method must be a string");
  json::Value* params = object->if_contains("params");
  json::Object* named = params == nullptr ? nullptr : params->if_object();
  json::Object taken = named == nullptr ? json::Object() : std::move(*named);
  if (!id) return Notification{std::string(method->get_string()), std::move(taken)};
  if (params != nullptr && named == nullptr) {
    return Invalid{id,
                   {Code::kInvalidParams,
                    fmt::format("params must be an object, not {}", json::KindOf(*params))}};
  }
  return Request{*id, std::string(method->get_string()), std::move(taken)};
}

json::Object ResultResponse(const json::Value& id, json::Object result) {
  json::Object response = Envelope();
  response["id"] = id;
  response["result"] = std::move(result);
  return response;
}

json::Object ErrorResponse(const std::optional<json::Value>& id, RpcError error) {
  json::Object body = {{"code", static_cast<int>(error.code)},
                       {"message", json::Text(error.message)}};
  if (!error.data.is_null()) body["data"] = std::move(error.data);
  json::Object response = Envelope();
  if (id) response["id"] = *id;
  response["error"] = std::move(body);
  return response;
}

json::Object RequestMessage(const json::Value& id, std::string_view method, json::Object params) {
  json::Object message = NotificationMessage(method, std::move(params));
  message["id"] = id;
  return message;
}

json::Object NotificationMessage(std::string_view method, json::Object params) {
  json::Object message = Envelope();
  message["method"] = method;
  message["params"] = std::move(params);
  return message;
}

}  // namespace polybox::mcp
