// GET and HEAD /openapi.json: the OpenAPI document of this server (http/openapi.h).
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "http/exchange.h"
#include "http/openapi.h"

namespace polybox::http {

struct DoorRow;
extern const DoorRow kApiDoor;

/// Makes the door. Its document describes `doors` and the door itself. `refuse` answers the faults
/// of /openapi.json.
Result<Door> MakeApiDoor(const std::vector<Door>& doors, const ApiFacts& facts,
                         std::function<Response(Fault, const Request&)> refuse);

}  // namespace polybox::http
