// The parts of the API description that follow from the table of limits (limits/table.h): facts of
// the execute door, as JSON. api/execute.json says where they go.
#pragma once

#include <map>
#include <string>

namespace polybox::http {

/// Returns the facts. "limit_names" and "limit_schemas" describe the limits in GET /languages,
/// "changing_limit_schemas" those that a request of POST /execute may have.
std::map<std::string, std::string> LimitFacts();

}  // namespace polybox::http
