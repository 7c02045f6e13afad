#include "http/openapi.h"

#include <set>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "http/doors/testing/door_table_fixture.h"

namespace polybox::http {
namespace {

namespace json = boost::json;

class OpenApi : public testing::DoorTableTest {
 protected:
  json::value Document(const std::vector<Door>& doors, const ApiFacts& facts = {"1.2.3"}) {
    const auto text = DescribeApi(doors, facts);
    EXPECT_TRUE(text.ok()) << text.error().message();
    return text.ok() ? json::parse(*text) : json::value();
  }
  json::value Document() { return Document(Doors()); }
};

/// Returns "GET /download/*" and the like for every operation.
std::set<std::string> OperationsOf(const json::value& document) {
  const std::map<std::string, std::string> methods = {{"get", "GET"},         {"post", "POST"},
                                                      {"delete", "DELETE"},   {"head", "HEAD"},
                                                      {"options", "OPTIONS"}, {"parameters", ""}};
  std::set<std::string> operations;
  for (const auto& [path, item] : document.at("paths").as_object()) {
    for (const auto& member : item.as_object()) {
      const std::string method = methods.at(member.key());
      std::string name = method + " " + std::string(path);
      if (const std::size_t open = name.find('{'); open != std::string::npos) {
        name.replace(open, name.size(), "*");
      }
      if (!method.empty()) operations.insert(name);
    }
  }
  return operations;
}

std::set<std::string> RoutesOf(const std::vector<Door>& doors) {
  std::set<std::string> routes;
  for (const Door& door : doors) {
    for (const Route& route : door.routes) routes.insert(route.method + " " + route.path);
  }
  return routes;
}

/// Calls `visit` with each string value of the document.
template <typename Visit>
void VisitTexts(const json::value& value, const Visit& visit) {
  if (value.is_string()) visit(std::string(value.get_string()));
  if (value.is_array()) {
    for (const json::value& item : value.get_array()) VisitTexts(item, visit);
  }
  if (value.is_object()) {
    for (const auto& member : value.get_object()) VisitTexts(member.value(), visit);
  }
}

TEST_F(OpenApi, EveryRouteOfTheServerIsInItsDocument) {
  const std::vector<Door> doors = Doors();
  EXPECT_EQ(OperationsOf(Document(doors)), RoutesOf(doors));
}

TEST_F(OpenApi, RoutesThatThisServerDoesNotHaveAreNotInItsDocument) {
  EXPECT_TRUE(OperationsOf(Document()).contains("GET /metrics"));
  const auto operations =
      OperationsOf(Document(Doors([](DoorParts& parts) { parts.settings.metrics = false; })));
  EXPECT_FALSE(operations.contains("GET /metrics"));
  EXPECT_FALSE(operations.contains("OPTIONS /metrics"));
  EXPECT_TRUE(operations.contains("GET /healthz"));
}

TEST_F(OpenApi, EveryFactIsThisServersOwn) {
  const json::value document =
      Document(Doors([](DoorParts& parts) { parts.settings.run_limits.max_files = 7; }));
  EXPECT_EQ(document.at("info").at("version"), "1.2.3");
  const json::value& run = document.at_pointer("/components/schemas/RunRequest/properties");
  EXPECT_EQ(run.at("files").at("maxItems"), 7);
  EXPECT_EQ(run.at("runtime").at("enum"), json::array{"bash"});
  const json::value& text = document.at_pointer("/paths/~1execute/post/description");
  EXPECT_NE(text.as_string().find("(`shell`)"), json::string::npos) << text;
  VisitTexts(document, [](const std::string& each) {
    for (const char* door : {"{server.", "{execute.", "{run.", "{runtime."}) {
      EXPECT_EQ(each.find(door), std::string::npos) << each;
    }
  });
}

TEST_F(OpenApi, ExamplesAreOfLanguagesThatThisServerHas) {
  const json::value document = Document();
  const char* content = "/paths/~1v1~1run/post/requestBody/content/application~1json/examples";
  const json::object& examples = document.at_pointer(content).as_object();
  EXPECT_TRUE(examples.contains("bash"));
  EXPECT_FALSE(examples.contains("base64")) << "which is Python";
  EXPECT_EQ(json::serialize(document).find("x-language"), std::string::npos);
}

TEST_F(OpenApi, TokensAreAskedForWhereTheyAreNeeded) {
  EXPECT_EQ(Document().at("security"), json::array());
  const json::value document = Document(Doors(), {"1", true});
  EXPECT_EQ(document.at("security").as_array().size(), 2);
  EXPECT_EQ(document.at_pointer("/paths/~1health/get/security"), json::array());
  EXPECT_FALSE(document.at_pointer("/paths/~1execute/post").as_object().contains("security"));
}

TEST_F(OpenApi, PartsCommonToAllOperationsAreInEach) {
  const json::value document = Document();
  EXPECT_FALSE(document.as_object().contains("x-every-operation"));
  EXPECT_FALSE(document.as_object().contains("x-every-response"));
  const json::value& execute = document.at_pointer("/paths/~1execute/post");
  EXPECT_EQ(execute.at("parameters").as_array().size(), 2) << "its own and the shared one";
  EXPECT_TRUE(execute.at("responses").as_object().contains("431"));
  const json::object& own = execute.at_pointer("/responses/400").as_object();
  EXPECT_TRUE(own.at("content").as_object().contains("application/json")) << "it stays";
  EXPECT_FALSE(own.contains("$ref")) << "and is not mixed with the shared one";
  EXPECT_TRUE(execute.at_pointer("/responses/200/headers").as_object().contains("X-Request-ID"));
  EXPECT_TRUE(document.at_pointer("/components/responses/RunMethods/headers")
                  .as_object()
                  .contains("X-Request-ID"));
}

TEST_F(OpenApi, EveryReferenceLeadsSomewhere) {
  const json::value document = Document();
  int count = 0;
  VisitTexts(document, [&](const std::string& text) {
    if (!text.starts_with("#/")) return;
    ++count;
    EXPECT_NO_THROW(static_cast<void>(document.at_pointer(text.substr(1)))) << text;
  });
  EXPECT_GT(count, 50);
}

TEST_F(OpenApi, AServerWithoutDoorsHasADocumentToo) {
  const auto text = DescribeApi({}, {.version = "1"});
  ASSERT_TRUE(text.ok()) << text.error().message();
  EXPECT_EQ(OperationsOf(json::parse(*text)), std::set<std::string>());
}

TEST_F(OpenApi, TheDoorServesTheDocument) {
  const std::vector<Door> doors = Doors([](DoorParts& parts) { parts.needs_token = true; });
  const Door& door = doors.back();
  const auto exchange = testing::Send(door, testing::Get("/openapi.json"));
  EXPECT_EQ(exchange->response.status, 200);
  EXPECT_EQ(exchange->response.content_type, "application/json");
  EXPECT_EQ(exchange->response.body, *DescribeApi(doors, {"1.2.3", true}));
  EXPECT_EQ(door.refuse(Fault::kMethodNotAllowed, {}).status, 405);
}

}  // namespace
}  // namespace polybox::http
