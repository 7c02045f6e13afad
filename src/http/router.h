// Finds the route of a request, or the door that refuses the request when there is none. Immutable,
// so any thread may use it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/exchange.h"

namespace polybox::http {

struct Match {
  /// Null when no door is responsible for the path.
  const Door* door = nullptr;
  /// Null when no route has this path, or none has it with this method.
  const Route* route = nullptr;
  /// The reason when `route` is null: kNotFound or kMethodNotAllowed.
  Fault fault = Fault::kNotFound;
  /// The access of the route. A HEAD request without a route has the access of the GET route.
  Access access = Access::kClients;
  /// The methods of the path in the order of the routes, such as "OPTIONS, GET"; "" when no route
  /// has the path.
  std::string allow = {};
};

class Router {
 public:
  explicit Router(std::vector<Door> doors) : doors_(std::move(doors)) {}

  /// Returns the most specific route: an exact path before "/a/b/*" before "/a/*". Of equal routes
  /// the first is returned. The match points into the router, so Find() cannot be called on a
  /// temporary.
  Match Find(std::string_view method, std::string_view path) const&;
  Match Find(std::string_view method, std::string_view path) const&& = delete;
  const std::vector<Door>& doors() const { return doors_; }

 private:
  const Door* DoorOfFaults(std::string_view path) const;

  std::vector<Door> doors_;
};

/// Appends the header unless `headers` already contains one with this name.
void AddIfMissing(Headers& headers, std::string_view name, const std::string& value);

/// Returns the name of a fault for the log, such as "not_found".
std::string_view FaultName(Fault fault);

/// Returns the door's answer to a fault, or a plain text if the door has no answer of its own.
Response Refuse(const Match& match, Fault fault, const Request& request);

}  // namespace polybox::http
