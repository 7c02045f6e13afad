// Finds the route of a request among the doors, and the door that says no where there is none. Pure
// and immutable; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/exchange.h"

namespace polybox::http {

struct Match {
  /// Null when no door cares about the path.
  const Door* door = nullptr;
  /// Null when there is no such path, or not with this method.
  const Route* route = nullptr;
  /// When there is no route: kNotFound or kMethodNotAllowed.
  Fault fault = Fault::kNotFound;
  /// Methods of the path in the order of the routes: "OPTIONS, GET"; "" when there is no path.
  std::string allow = {};
};

class Router {
 public:
  explicit Router(std::vector<Door> doors) : doors_(std::move(doors)) {}

  /// The route whose path says most: an exact one before "/a/b/*" before "/a/*"; of equals the
  /// first. The match points into the router.
  Match Find(std::string_view method, std::string_view path) const&;
  Match Find(std::string_view method, std::string_view path) const&& = delete;
  const std::vector<Door>& doors() const { return doors_; }

 private:
  const Door* DoorOfFaults(std::string_view path) const;

  std::vector<Door> doors_;
};

void AddIfMissing(Headers& headers, std::string_view name, const std::string& value);

/// What the door answers to a fault; a plain text where it has no words of its own.
Response Refuse(const Match& match, Fault fault, const Request& request);

}  // namespace polybox::http
