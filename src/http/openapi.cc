#include "http/openapi.h"

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include "json/parse.h"
#include "json/write.h"

namespace polybox::http {
namespace {

// Merged first, so that the document begins with its members.
constexpr std::string_view kFirstFile = "document.json";
constexpr std::string_view kEveryOperation = "x-every-operation";
constexpr std::string_view kEveryResponse = "x-every-response";
constexpr std::string_view kLanguage = "x-language";
// The members of an item of `paths` that are operations; its other members are not.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kMethods = {{
    {"get", "GET"},
    {"put", "PUT"},
    {"post", "POST"},
    {"delete", "DELETE"},
    {"options", "OPTIONS"},
    {"head", "HEAD"},
    {"patch", "PATCH"},
    {"trace", "TRACE"},
}};

using FactMap = std::map<std::string, json::Value, std::less<>>;

/// Copies members of `from` into `into`. Members of both are merged if they are objects; otherwise
/// that of `into` stays.
void Merge(json::Object& into, const json::Object& from) {
  for (const auto& [key, value] : from) {
    json::Value* there = into.if_contains(key);
    if (there == nullptr) {
      into.emplace(key, value);
    } else if (there->is_object() && value.is_object()) {
      Merge(there->get_object(), value.get_object());
    }
  }
}

// A mistake in api/ throws an exception in the functions from here to DescribeApi(), which catches
// it.

/// Returns the value of a text that polybox has written itself.
json::Value Parsed(std::string_view text) {
  Result<json::Value> value = json::Parse(text);
  if (!value.ok()) throw std::runtime_error(value.error().message());
  return std::move(value).value();
}

json::Object WholeDocument() {
  json::Object document;
  for (const bool first : {true, false}) {
    for (const EmbeddedFile& file : ApiFiles()) {
      if ((file.name == kFirstFile) == first) Merge(document, Parsed(file.content).as_object());
    }
  }
  return document;
}

json::Object& Member(json::Object& object, std::string_view key) {
  return object.at(key).as_object();
}

json::Object Taken(json::Object& document, std::string_view key) {
  json::Object taken = Member(document, key);
  document.erase(key);
  return taken;
}

/// Returns the route's path, such as "/download/*" for "/download/{path}".
std::string RoutePath(std::string_view path) {
  const std::size_t last = path.rfind('/');
  if (last == std::string_view::npos || !path.substr(last).starts_with("/{")) {
    return std::string(path);
  }
  return std::string(path.substr(0, last + 1)) + "*";
}

/// Calls `visit` with "GET /path" and the operation. Removes the operations for which `visit`
/// returns false.
template <typename Visit>
void VisitOperations(json::Object& document, const Visit& visit) {
  json::Object kept;
  for (auto& [path, item] : Member(document, "paths")) {
    json::Object operations = item.as_object();
    std::size_t count = 0;
    for (const auto& [key, method] : kMethods) {
      json::Value* operation = operations.if_contains(key);
      if (operation == nullptr) continue;
      const std::string name = fmt::format("{} {}", method, RoutePath(path));
      if (visit(name, operation->as_object())) {
        ++count;
      } else {
        operations.erase(key);
      }
    }
    if (count > 0) kept.emplace(path, std::move(operations));
  }
  document["paths"] = std::move(kept);
}

/// The access of each route, by a name such as "GET /health".
using Routes = std::map<std::string, Access>;

Routes RoutesOf(const std::vector<Door>& doors) {
  Routes routes;
  for (const Door& door : doors) {
    for (const Route& route : door.routes) {
      routes.emplace(route.method + " " + route.path, route.access);
    }
  }
  return routes;
}

/// Drops operations without a route. Adds the members that every operation has.
void CompleteOperations(json::Object& document, const Routes& routes) {
  json::Object every = Taken(document, kEveryOperation);
  const json::Object responses_of_all = Member(every, "responses");
  const json::Array parameters_of_all = every.at("parameters").as_array();
  VisitOperations(document, [&](const std::string& name, json::Object& operation) {
    const auto route = routes.find(name);
    if (route == routes.end()) return false;
    if (route->second != Access::kClients) operation["security"] = json::Array();
    // Each shared answer is used as a whole, and never mixed with the operation's own answer of
    // that status.
    json::Object& responses = Member(operation, "responses");
    for (const auto& [status, response] : responses_of_all) responses.emplace(status, response);
    json::Value& parameters = operation["parameters"];
    json::Array& own = parameters.is_array() ? parameters.get_array() : parameters.emplace_array();
    own.insert(own.end(), parameters_of_all.begin(), parameters_of_all.end());
    return true;
  });
}

void CompleteResponses(json::Object& document) {
  const json::Object every = Taken(document, kEveryResponse);
  const auto complete = [&every](json::Object& responses) {
    for (auto& [name, response] : responses) {
      // A shared response is completed where it is defined.
      if (!response.as_object().contains("$ref")) Merge(response.get_object(), every);
    }
  };
  complete(Member(Member(document, "components"), "responses"));
  VisitOperations(document, [&](const std::string&, json::Object& operation) {
    complete(Member(operation, "responses"));
    return true;
  });
}

FactMap FactsOf(const std::vector<Door>& doors, const ApiFacts& facts) {
  FactMap all;
  for (const Door& door : doors) {
    for (const auto& [name, value] : door.facts) {
      all[door.name + "." + name] = Parsed(value);
    }
  }
  all["server.version"] = json::Text(facts.version);
  json::Array security;
  if (facts.needs_token) {
    security = {json::Object{{"bearer", json::Array()}}, json::Object{{"header", json::Array()}}};
  }
  all["server.security"] = std::move(security);
  return all;
}

std::string TextOf(const json::Value& fact) {
  if (const auto* text = fact.if_string()) return std::string(*text);
  return json::Write(fact);
}

json::Value Filled(std::string_view text, const FactMap& facts) {
  std::string filled;
  while (!text.empty()) {
    const std::size_t open = std::min(text.find('{'), text.size());
    filled += text.substr(0, open);
    text.remove_prefix(open);
    const std::size_t close = text.find('}');
    const auto fact =
        close == std::string_view::npos ? facts.end() : facts.find(text.substr(1, close - 1));
    if (fact == facts.end()) {
      filled += text.substr(0, 1);
      text.remove_prefix(std::min<std::size_t>(1, text.size()));
      continue;
    }
    text.remove_prefix(close + 1);
    if (filled.empty() && text.empty()) return fact->second;
    filled += TextOf(fact->second);
  }
  return json::Value(filled);
}

void Fill(json::Value& value, const FactMap& facts) {
  if (const auto* text = value.if_string()) {
    value = Filled(std::string(*text), facts);
  } else if (json::Array* array = value.if_array()) {
    for (json::Value& item : *array) Fill(item, facts);
  } else if (json::Object* object = value.if_object()) {
    for (auto& member : *object) Fill(member.value(), facts);
  }
}

json::Array LanguagesOf(const FactMap& facts) {
  const auto found = facts.find("execute.languages");
  return found == facts.end() ? json::Array() : found->second.as_array();
}

/// Removes examples for languages that this server does not have.
void DropForeignExamples(json::Value& value, const json::Array& languages) {
  if (json::Array* array = value.if_array()) {
    for (json::Value& item : *array) DropForeignExamples(item, languages);
  }
  json::Object* object = value.if_object();
  if (object == nullptr) return;
  json::Object kept;
  for (auto& member : *object) {
    DropForeignExamples(member.value(), languages);
    json::Object* example = member.value().if_object();
    const json::Value* language = example == nullptr ? nullptr : example->if_contains(kLanguage);
    if (language != nullptr) {
      if (std::ranges::count(languages, *language) == 0) continue;
      example->erase(kLanguage);
    }
    kept.emplace(member.key(), std::move(member.value()));
  }
  *object = std::move(kept);
}

}  // namespace

Result<std::string> DescribeApi(const std::vector<Door>& doors, const ApiFacts& facts) {
  try {
    json::Object document = WholeDocument();
    CompleteOperations(document, RoutesOf(doors));
    CompleteResponses(document);
    json::Value whole = std::move(document);
    const FactMap values = FactsOf(doors, facts);
    Fill(whole, values);
    DropForeignExamples(whole, LanguagesOf(values));
    return json::Write(whole) + "\n";
  } catch (const std::exception& mistake) {
    return Error(ErrorKind::kInvalid, fmt::format("the API document: {}", mistake.what()));
  }
}

}  // namespace polybox::http
