#include "http/doors/door_table.h"

#include <cstdlib>
#include <utility>

#include "http/doors/api.h"
#include "http/doors/console.h"
#include "http/doors/execute.h"
#include "http/doors/mcp.h"
#include "http/doors/ready.h"
#include "http/doors/run.h"
#include "http/doors/runtime.h"
#include "http/doors/workspaces.h"

namespace polybox::http {
namespace {

constexpr const DoorRow* kDoors[] = {
    &kExecuteDoor,    &kRunDoor,     &kRuntimeDoor, &kMcpDoor,
    &kWorkspacesDoor, &kConsoleDoor, &kReadyDoor,
    &kApiDoor,  // last, because it describes the doors above
};

}  // namespace

std::span<const DoorRow* const> AllDoors() {
  return kDoors;
}

std::vector<exec::Lane> LanesOf(const DoorSettings& settings) {
  std::vector<exec::Lane> lanes;
  for (const DoorRow* row : kDoors) {
    if (row->lane != nullptr) lanes.push_back(row->lane(settings));
  }
  return lanes;
}

std::size_t LaneNumber(const DoorRow& wanted) {
  std::size_t number = 0;
  for (const DoorRow* row : kDoors) {
    if (row->lane == nullptr) continue;
    if (row == &wanted) return number;
    ++number;
  }
  // A mistake in the door that asks.
  std::abort();
}

Result<std::vector<Door>> MakeDoors(DoorParts parts) {
  for (const DoorRow* row : kDoors) {
    POLYBOX_ASSIGN_OR_RETURN(Door door, row->make(parts));
    parts.earlier.push_back(std::move(door));
  }
  return std::move(parts.earlier);
}

}  // namespace polybox::http
