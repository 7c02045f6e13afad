#include "http/doors/ready.h"

#include <string>
#include <utility>
#include <vector>

#include "http/doors/door_row.h"
#include "json/write.h"

namespace polybox::http {
namespace {

Response Answer(const Readiness& readiness) {
  const Condition condition = readiness.Look();
  const bool ready = condition.obstacles.empty();
  json::Object answer = {{"status", ready ? "ready" : "not ready"}};
  const std::vector<std::string>& reasons = ready ? condition.remarks : condition.obstacles;
  if (!reasons.empty()) answer["reasons"] = json::Texts(reasons);
  Response response;
  response.status = ready ? 200 : 503;
  response.body = json::Write(answer) + "\n";
  return response;
}

}  // namespace

Door MakeReadyDoor(std::shared_ptr<const Readiness> readiness) {
  Route get = {.method = "GET",
               .path = "/readyz",
               .handler =
                   [readiness = std::move(readiness)](const std::shared_ptr<Exchange>& exchange) {
                     exchange->Respond(Answer(*readiness));
                   },
               .access = Access::kPages,
               .log_level = log::Level::kDebug};
  Route head = get;
  head.method = "HEAD";
  return {.name = "ready",
          .routes = {std::move(get), std::move(head)},
          .refuse = nullptr,
          // Other doors answer the faults of other paths.
          .fault_prefixes = {"/readyz"}};
}

constinit const DoorRow kReadyDoor = {
    .name = "ready",
    .make = [](const DoorParts& parts) -> Result<Door> { return MakeReadyDoor(parts.readiness); }};

}  // namespace polybox::http
