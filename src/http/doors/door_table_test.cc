// What must hold for every door of the table: a door that is forgotten in a place outside of the
// table is named here.
#include "http/doors/door_table.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/files.h"
#include "http/doors/testing/door_table_fixture.h"
#include "http/measured_executor.h"
#include "http/openapi.h"
#include "http/router.h"
#include "json/parse.h"

namespace polybox::http {
namespace {

using testing::DoorTableTest;

/// Returns "GET /download/*" and the like for each operation of a file of api/.
std::set<std::string> OperationsOf(std::string_view file) {
  const std::map<std::string, std::string, std::less<>> methods = {{"get", "GET"},
                                                                   {"post", "POST"},
                                                                   {"delete", "DELETE"},
                                                                   {"head", "HEAD"},
                                                                   {"options", "OPTIONS"}};
  std::set<std::string> operations;
  const Result<json::Value> document = json::Parse(file);
  EXPECT_TRUE(document.ok()) << document.error().message();
  const json::Value* paths = document->as_object().if_contains("paths");
  if (paths == nullptr) return operations;
  for (const auto& [path, item] : paths->as_object()) {
    for (const auto& member : item.as_object()) {
      const auto method = methods.find(std::string_view(member.key()));
      if (method == methods.end()) continue;
      const std::string name = method->second + " " + std::string(path);
      operations.insert(name.substr(0, name.find('{')) +
                        (name.find('{') == std::string::npos ? "" : "*"));
    }
  }
  return operations;
}

std::set<std::string> RoutesOf(const Door& door) {
  std::set<std::string> routes;
  for (const Route& route : door.routes) routes.insert(route.method + " " + route.path);
  return routes;
}

TEST_F(DoorTableTest, EveryRouteIsAnOperationOfTheDoorsOwnFileAndEveryOperationIsARoute) {
  std::map<std::string, std::set<std::string>> documented;
  for (const EmbeddedFile& file : ApiFiles()) {
    documented[std::string(file.name)] = OperationsOf(file.content);
  }
  EXPECT_TRUE(documented["document.json"].empty()) << "it belongs to no door";
  documented.erase("document.json");
  std::map<std::string, std::set<std::string>> routes;
  for (const Door& door : Doors()) routes[door.name + ".json"] = RoutesOf(door);
  EXPECT_EQ(documented, routes);
}

TEST_F(DoorTableTest, ARowAndItsDoorHaveTheSameName) {
  const std::vector<Door> doors = Doors();
  ASSERT_EQ(doors.size(), AllDoors().size());
  std::set<std::string> names;
  for (std::size_t i = 0; i < doors.size(); ++i) {
    EXPECT_EQ(doors[i].name, AllDoors()[i]->name);
    EXPECT_TRUE(names.insert(doors[i].name).second) << doors[i].name;
  }
}

TEST_F(DoorTableTest, EveryLaneIsNamedInTheMetricsAndHasANumber) {
  const std::vector<exec::Lane> lanes = LanesOf({});
  MeasuredExecutor measured(executor_, metrics_, lanes);
  executor_.answer = exec::Refusal{.kind = exec::RefusalKind::kBusy, .message = ""};
  std::set<std::string> names;
  for (const DoorRow* row : AllDoors()) {
    if (row->lane == nullptr) continue;
    exec::Request request;
    request.lane = LaneNumber(*row);
    const std::string name = lanes.at(request.lane).name;
    EXPECT_EQ(name, row->lane({}).name);
    EXPECT_TRUE(!name.empty() && names.insert(name).second) << row->name << ": " << name;
    measured.Submit(std::move(request), [](const exec::Answer&) {});
    EXPECT_NE(metrics_.Render().find("polybox_refusals_total{door=\"" + name + "\""),
              std::string::npos)
        << metrics_.Render();
  }
  EXPECT_EQ(names, (std::set<std::string>{"execute", "run", "command"}));
}

TEST_F(DoorTableTest, TheRulesOfLanesComeFromTheSettings) {
  const std::vector<exec::Lane> lanes =
      LanesOf({.usual_lane = {.name = "", .concurrency = 4, .queue = 5},
               .run_lane = {.name = "", .concurrency = 6, .queue = 7, .queue_time = Duration(8)}});
  for (const exec::Lane& lane : lanes) {
    const bool is_run = lane.name == "run";
    EXPECT_EQ(lane.concurrency, is_run ? 6 : 4) << lane.name;
    EXPECT_EQ(lane.queue, is_run ? 7 : 5) << lane.name;
    EXPECT_EQ(lane.queue_time == Duration(8), is_run) << lane.name;
  }
}

TEST_F(DoorTableTest, NoTwoDoorsHaveTheSameRouteOrFaultPrefix) {
  std::set<std::string> routes;
  std::set<std::string> prefixes;
  int without_prefix = 0;
  for (const Door& door : Doors()) {
    for (const Route& route : door.routes) {
      EXPECT_TRUE(routes.insert(route.method + " " + route.path).second) << route.path;
    }
    for (const std::string& prefix : door.fault_prefixes) {
      EXPECT_TRUE(prefixes.insert(prefix).second) << door.name << ": " << prefix;
    }
    if (door.fault_prefixes.empty()) ++without_prefix;
  }
  EXPECT_EQ(without_prefix, 1) << "one door answers the faults of all other paths";
}

// A route becomes open to everybody only with a change of this list.
TEST_F(DoorTableTest, OnlyTheseProbesNeedNoToken) {
  const Router router(Doors());
  std::set<std::string> probes;
  std::set<std::string> pages;
  for (const Door& door : router.doors()) {
    for (const Route& route : door.routes) {
      for (const char* method : {"GET", "HEAD", "POST", "OPTIONS"}) {
        const Access access = router.Find(method, route.path).access;
        const std::string name = method + (" " + route.path);
        if (access == Access::kProbes) probes.insert(name);
        if (access == Access::kPages) pages.insert(name);
      }
    }
  }
  // The files of the page say nothing about a server, and a link to a style sheet brings no token.
  EXPECT_EQ(probes, (std::set<std::string>{"GET /health", "HEAD /health", "GET /console/*",
                                           "HEAD /console/*"}));
  EXPECT_EQ(pages, (std::set<std::string>{"GET /", "HEAD /", "GET /healthz", "HEAD /healthz",
                                          "GET /readyz", "HEAD /readyz"}));
}

TEST_F(DoorTableTest, ProbesThatSucceedAreLoggedOnlyInDetail) {
  std::set<std::string> quiet;
  for (const Door& door : Doors()) {
    for (const Route& route : door.routes) {
      if (route.log_level == log::Level::kDebug) quiet.insert(route.path);
    }
  }
  EXPECT_EQ(quiet, (std::set<std::string>{"/", "/console/*", "/health", "/healthz", "/metrics",
                                          "/readyz", "/workspaces"}));
}

TEST_F(DoorTableTest, EveryRouteIsInThePageForReaders) {
  const Result<std::string> page = ReadFile(std::string(POLYBOX_SOURCE_DIR) + "/docs/api.md");
  ASSERT_TRUE(page.ok());
  for (const Door& door : Doors()) {
    for (const Route& route : door.routes) {
      const std::string path = route.path.substr(0, route.path.find('*'));
      EXPECT_NE(page->find(path), std::string::npos) << route.path << " is not in docs/api.md";
    }
  }
}

/// A door as the table must be able to describe one: without a lane, and with an answer that lasts
/// until its client goes.
TEST_F(DoorTableTest, ADoorMayHaveNoLaneAndAnswersWithoutAnEnd) {
  constexpr DoorRow kEvents = {
      .name = "events", .make = [](const DoorParts&) -> Result<Door> {
        Door door{.name = "events", .routes = {}, .refuse = nullptr, .fault_prefixes = {"/sse"}};
        door.routes.push_back({.method = "GET",
                               .path = "/sse",
                               .handler = [](const auto& exchange) { exchange->Begin({}); },
                               .answer_end = AnswerEnd::kClient});
        return door;
      }};
  EXPECT_EQ(kEvents.lane, nullptr);
  const Result<Door> door = kEvents.make(Parts());
  ASSERT_TRUE(door.ok());
  const auto exchange = testing::Send(*door, testing::Get("/sse"));
  EXPECT_TRUE(exchange->streaming);
  EXPECT_FALSE(exchange->ended);
}

}  // namespace
}  // namespace polybox::http
