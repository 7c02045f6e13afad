#include "http/openapi.h"

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <set>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "http/doors/execute_result.h"

namespace polybox::http {
namespace {

namespace json = boost::json;

constexpr std::string_view kPath = "/openapi.json";
constexpr std::string_view kEveryOperation = "x-every-operation";
constexpr std::string_view kEveryResponse = "x-every-response";
constexpr const char* kLanguage = "x-language";
// What an item of `paths` has beside these is no operation.
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

using FactMap = std::map<std::string, json::value, std::less<>>;

/// Members that both have are merged if they are objects; else the first stays.
void Merge(json::object& into, const json::object& from) {
  for (const auto& [key, value] : from) {
    json::value* there = into.if_contains(key);
    if (there == nullptr) {
      into.emplace(key, value);
    } else if (there->is_object() && value.is_object()) {
      Merge(there->get_object(), value.get_object());
    }
  }
}

// What is not as it must be in api/ throws from here on, up to DescribeApi.

json::object WholeDocument() {
  json::object document;
  for (const EmbeddedFile& file : ApiFiles()) {
    Merge(document, json::parse({file.content.data(), file.content.size()}).as_object());
  }
  return document;
}

json::object& Member(json::object& object, std::string_view key) {
  return object.at({key.data(), key.size()}).as_object();
}

json::object Taken(json::object& document, std::string_view key) {
  json::object taken = Member(document, key);
  document.erase({key.data(), key.size()});
  return taken;
}

/// "/download/{path}" is "/download/*" among the routes.
std::string RoutePath(std::string_view path) {
  const std::size_t last = path.rfind('/');
  if (last == std::string_view::npos || !path.substr(last).starts_with("/{")) {
    return std::string(path);
  }
  return std::string(path.substr(0, last + 1)) + "*";
}

/// Calls `visit` with "GET /path" and the operation; those that it returns false for are removed.
template <typename Visit>
void VisitOperations(json::object& document, const Visit& visit) {
  json::object kept;
  for (auto& [path, item] : Member(document, "paths")) {
    json::object operations = item.as_object();
    std::size_t count = 0;
    for (const auto& [key, method] : kMethods) {
      json::value* operation = operations.if_contains({key.data(), key.size()});
      if (operation == nullptr) continue;
      const std::string name = fmt::format("{} {}", method, RoutePath({path.data(), path.size()}));
      if (visit(name, operation->as_object())) {
        ++count;
      } else {
        operations.erase({key.data(), key.size()});
      }
    }
    if (count > 0) kept.emplace(path, std::move(operations));
  }
  document["paths"] = std::move(kept);
}

void DropWhatHasNoRoute(json::object& document, const std::vector<Door>& doors) {
  std::set<std::string> routes;
  for (const Door& door : doors) {
    for (const Route& route : door.routes) routes.insert(route.method + " " + route.path);
  }
  VisitOperations(document,
                  [&](const std::string& name, json::object&) { return routes.contains(name); });
}

void CompleteOperations(json::object& document, const ApiFacts& facts) {
  json::object every = Taken(document, kEveryOperation);
  const json::object responses_of_all = Member(every, "responses");
  const json::array parameters_of_all = every.at("parameters").as_array();
  VisitOperations(document, [&](const std::string& name, json::object& operation) {
    if (std::ranges::count(facts.open, name) != 0) operation["security"] = json::array();
    // As a whole each: an answer of its own is not mixed with the shared one.
    json::object& responses = Member(operation, "responses");
    for (const auto& [status, response] : responses_of_all) responses.emplace(status, response);
    json::value& parameters = operation["parameters"];
    json::array& own = parameters.is_array() ? parameters.get_array() : parameters.emplace_array();
    own.insert(own.end(), parameters_of_all.begin(), parameters_of_all.end());
    return true;
  });
}

void CompleteResponses(json::object& document) {
  const json::object every = Taken(document, kEveryResponse);
  const auto complete = [&every](json::object& responses) {
    for (auto& [name, response] : responses) {
      // What is shared is completed where it stands.
      if (!response.as_object().contains("$ref")) Merge(response.get_object(), every);
    }
  };
  complete(Member(Member(document, "components"), "responses"));
  VisitOperations(document, [&](const std::string&, json::object& operation) {
    complete(Member(operation, "responses"));
    return true;
  });
}

FactMap FactsOf(const std::vector<Door>& doors, const ApiFacts& facts) {
  FactMap all;
  for (const Door& door : doors) {
    for (const auto& [name, value] : door.facts) {
      all[door.name + "." + name] = json::parse(value);
    }
  }
  all["server.version"] = json::string(facts.version);
  json::array security;
  if (facts.needs_token) {
    security = {json::object{{"bearer", json::array()}}, json::object{{"header", json::array()}}};
  }
  all["server.security"] = std::move(security);
  return all;
}

std::string TextOf(const json::value& fact) {
  if (const json::string* text = fact.if_string()) return {text->data(), text->size()};
  return json::serialize(fact);
}

json::value Filled(std::string_view text, const FactMap& facts) {
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
  return json::string(filled);
}

void Fill(json::value& value, const FactMap& facts) {
  if (const json::string* text = value.if_string()) {
    value = Filled({text->data(), text->size()}, facts);
  } else if (json::array* array = value.if_array()) {
    for (json::value& item : *array) Fill(item, facts);
  } else if (json::object* object = value.if_object()) {
    for (auto& member : *object) Fill(member.value(), facts);
  }
}

json::array LanguagesOf(const FactMap& facts) {
  const auto found = facts.find("execute.languages");
  return found == facts.end() ? json::array() : found->second.as_array();
}

/// Examples that are of a language are for servers that have it.
void DropForeignExamples(json::value& value, const json::array& languages) {
  if (json::array* array = value.if_array()) {
    for (json::value& item : *array) DropForeignExamples(item, languages);
  }
  json::object* object = value.if_object();
  if (object == nullptr) return;
  json::object kept;
  for (auto& member : *object) {
    DropForeignExamples(member.value(), languages);
    json::object* example = member.value().if_object();
    const json::value* language = example == nullptr ? nullptr : example->if_contains(kLanguage);
    if (language != nullptr) {
      if (std::ranges::count(languages, *language) == 0) continue;
      example->erase(kLanguage);
    }
    kept.emplace(member.key(), std::move(member.value()));
  }
  *object = std::move(kept);
}

Door OwnDoor(const std::shared_ptr<const std::string>& document) {
  const Handler answer = [document](const std::shared_ptr<Exchange>& exchange) {
    Response response;
    response.body = *document;
    exchange->Respond(std::move(response));
  };
  return {.name = "api",
          .routes = {{"GET", std::string(kPath), answer}, {"HEAD", std::string(kPath), answer}},
          .refuse = [](Fault fault, const Request&) { return ExecuteFault(fault); },
          // The faults of other paths are other doors'.
          .fault_prefixes = {std::string(kPath)}};
}

}  // namespace

Result<std::string> DescribeApi(const std::vector<Door>& doors, const ApiFacts& facts) {
  std::vector<Door> all = doors;
  all.push_back(OwnDoor(nullptr));
  try {
    json::object document = WholeDocument();
    DropWhatHasNoRoute(document, all);
    CompleteOperations(document, facts);
    CompleteResponses(document);
    json::value whole = std::move(document);
    const FactMap values = FactsOf(all, facts);
    Fill(whole, values);
    DropForeignExamples(whole, LanguagesOf(values));
    return json::serialize(whole) + "\n";
  } catch (const std::exception& mistake) {
    return Error(ErrorKind::kInvalid, fmt::format("the API document: {}", mistake.what()));
  }
}

Result<Door> MakeApiDoor(const std::vector<Door>& doors, const ApiFacts& facts) {
  POLYBOX_ASSIGN_OR_RETURN(std::string document, DescribeApi(doors, facts));
  return OwnDoor(std::make_shared<const std::string>(std::move(document)));
}

}  // namespace polybox::http
