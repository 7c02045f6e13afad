#include "http/doors/api.h"

#include <memory>
#include <string>
#include <utility>

#include "http/doors/door_row.h"
#include "http/doors/execute_result.h"

namespace polybox::http {

Result<Door> MakeApiDoor(const std::vector<Door>& doors, const ApiFacts& facts,
                         std::function<Response(Fault, const Request&)> refuse) {
  const auto document = std::make_shared<std::string>();
  const Handler answer = [document](const std::shared_ptr<Exchange>& exchange) {
    Response response;
    response.body = *document;
    exchange->Respond(std::move(response));
  };
  Door door = {.name = "api",
               .routes = {{"GET", "/openapi.json", answer}, {"HEAD", "/openapi.json", answer}},
               .refuse = std::move(refuse),
               // Other doors answer the faults of other paths.
               .fault_prefixes = {"/openapi.json"}};
  std::vector<Door> all = doors;
  all.push_back(door);
  POLYBOX_ASSIGN_OR_RETURN(*document, DescribeApi(all, facts));
  return door;
}

constinit const DoorRow kApiDoor = {.name = "api", .make = [](const DoorParts& parts) {
                                      const ApiFacts facts = {.version = parts.version,
                                                              .needs_token = parts.needs_token};
                                      return MakeApiDoor(parts.earlier, facts, ExecuteFault);
                                    }};

}  // namespace polybox::http
