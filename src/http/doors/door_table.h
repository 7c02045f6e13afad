// The table of all doors. The server, `polybox docs`, the tests and the fuzzer make their doors
// from it. A door that is in the table is in all of them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "exec/engine.h"
#include "http/doors/door_row.h"
#include "http/exchange.h"

namespace polybox::http {

/// Returns the rows in the order in which the router asks the doors.
std::span<const DoorRow* const> AllDoors();

/// Returns the lanes of all doors that have one. The engine gets these lanes first, so the number
/// of a lane is its place in this list.
std::vector<exec::Lane> LanesOf(const DoorSettings& settings);
/// Returns the number of the lane of `row`. The row is in the table and has a lane.
std::size_t LaneNumber(const DoorRow& row);

/// Makes all doors. An error says why a door cannot be made.
Result<std::vector<Door>> MakeDoors(DoorParts parts);

}  // namespace polybox::http
