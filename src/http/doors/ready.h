// GET and HEAD /readyz: whether the server should get requests. The answer is 200 or 503, and says
// what is wrong as JSON.
#pragma once

#include <memory>

#include "http/exchange.h"
#include "http/readiness.h"

namespace polybox::http {

struct DoorRow;
extern const DoorRow kReadyDoor;

Door MakeReadyDoor(std::shared_ptr<const Readiness> readiness);

}  // namespace polybox::http
