#include "http/router.h"

#include <gtest/gtest.h>

namespace polybox::http {
namespace {

Door Named(const std::string& name, const std::vector<std::pair<std::string, std::string>>& routes,
           std::vector<std::string> prefixes = {}) {
  Door door{.name = name, .routes = {}, .refuse = nullptr, .fault_prefixes = std::move(prefixes)};
  for (const auto& [method, path] : routes) door.routes.push_back({method, path, nullptr, 0});
  return door;
}

Router Sample() {
  return Router({Named("run", {{"POST", "/v1/run"}, {"GET", "/healthz"}}, {"/v1/"}),
                 Named("execute", {{"POST", "/execute"}, {"GET", "/health"}, {"HEAD", "/health"}}),
                 Named("files", {{"GET", "/list/*"}, {"GET", "/list/x/*"}, {"PUT", "/list/x/y"}},
                       {"/v1/files/"})});
}

TEST(Router, TheRouteThatSaysMostWins) {
  const Router router = Sample();
  EXPECT_EQ(router.Find("GET", "/list/a").route->path, "/list/*");
  EXPECT_EQ(router.Find("GET", "/list/").route->path, "/list/*");
  EXPECT_EQ(router.Find("GET", "/list/x/z").route->path, "/list/x/*");
  EXPECT_EQ(router.Find("PUT", "/list/x/y").route->path, "/list/x/y");
  EXPECT_EQ(router.Find("GET", "/list/x/y").route, nullptr) << "the path is another route's";
  EXPECT_EQ(router.Find("GET", "/list").route, nullptr);
  EXPECT_EQ(router.Find("GET", "/listing/").route, nullptr);
}

TEST(Router, AMethodThatIsNotThereNamesThoseThatAre) {
  const Router router = Sample();
  const Match match = router.Find("DELETE", "/health");
  EXPECT_EQ(match.route, nullptr);
  EXPECT_EQ(match.fault, Fault::kMethodNotAllowed);
  EXPECT_EQ(match.allow, "GET, HEAD");
  EXPECT_EQ(match.door->name, "execute");
}

TEST(Router, TheDoorOfAnUnknownPathIsThatOfTheLongestPrefixElseTheOneWithout) {
  const Router router = Sample();
  EXPECT_EQ(router.Find("GET", "/v1/nothing").door->name, "run");
  EXPECT_EQ(router.Find("GET", "/v1/files/nothing").door->name, "files");
  EXPECT_EQ(router.Find("GET", "/nothing").door->name, "execute");
  EXPECT_EQ(router.Find("GET", "/v1").door->name, "execute");
  const Router none({});
  EXPECT_EQ(none.Find("GET", "/").door, nullptr);
}

TEST(Router, AFaultWithoutADoorIsPlainText) {
  const Response response = Refuse(Match{}, Fault::kNotFound, Request{});
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.body, "404 Not Found\n");
}

}  // namespace
}  // namespace polybox::http
