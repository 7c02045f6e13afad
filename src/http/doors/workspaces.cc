#include "http/doors/workspaces.h"

#include <memory>
#include <utility>

#include "http/doors/door_row.h"
#include "http/doors/execute_result.h"
#include "json/bind.h"
#include "json/write.h"

namespace polybox::http {

Door MakeWorkspacesDoor(WorkspaceLister list) {
  const Handler answer = [list = std::move(list)](const std::shared_ptr<Exchange>& exchange) {
    std::vector<tools::ListedWorkspace> listed;
    if (list != nullptr) listed = list(exchange->request().client);
    Response response;
    response.body = json::Write(json::Object{{"workspaces", json::Encode(listed)}}) + "\n";
    response.headers = {{"Cache-Control", "no-store"}};
    exchange->Respond(std::move(response));
  };
  Door door = {
      .name = "workspaces",
      .routes = {},
      .refuse = ExecuteFault,
      // Other doors answer the faults of other paths.
      .fault_prefixes = {"/workspaces"},
  };
  for (const char* method : {"GET", "HEAD"}) {
    // An open page asks every few seconds.
    door.routes.push_back({.method = method,
                           .path = "/workspaces",
                           .handler = answer,
                           .log_level = log::Level::kDebug});
  }
  return door;
}

constinit const DoorRow kWorkspacesDoor = {.name = "workspaces",
                                           .make = [](const DoorParts& parts) -> Result<Door> {
                                             return MakeWorkspacesDoor(parts.list_workspaces);
                                           }};

}  // namespace polybox::http
