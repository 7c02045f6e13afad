#include "http/doors/workspaces.h"

#include <gtest/gtest.h>

#include "http/testing/fakes.h"

namespace polybox::http {
namespace {

using testing::Get;
using testing::Send;

TEST(WorkspacesDoor, AServerWithoutWorkspacesListsNone) {
  EXPECT_EQ(Send(MakeWorkspacesDoor(nullptr), Get("/workspaces"))->response.body,
            "{\"workspaces\":[]}\n");
}

TEST(WorkspacesDoor, ListsWhatTheClientMaySee) {
  const Door door = MakeWorkspacesDoor([](const std::string& principal) {
    return std::vector<tools::ListedWorkspace>{
        {.name = "main",
         .path = "/main",
         .readonly = false,
         .commands = {{.shell_id = "1",
                       .command = "echo " + principal,
                       .status = "running",
                       .running = true,
                       .started = "2026-04-23T14:30:22+01:00",
                       .output_bytes = 5}}}};
  });
  const auto answer = Send(door, Get("/workspaces"));
  EXPECT_EQ(answer->response.body,
            R"({"workspaces":[{"name":"main","path":"/main","readonly":false,"commands":[)"
            R"({"shell_id":"1","command":"echo 192.0.2.1","status":"running","running":true,)"
            R"("started":"2026-04-23T14:30:22+01:00","output_bytes":5}]}]})"
            "\n");
  EXPECT_EQ(answer->Header("Cache-Control"), "no-store");
}

}  // namespace
}  // namespace polybox::http
