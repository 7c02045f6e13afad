#include "http/router.h"

#include <algorithm>

#include "http/head.h"
#include "http/sites.h"

namespace polybox::http {
namespace {

/// Returns how specific a matching pattern is; 0 when it does not match `path`.
std::size_t Weight(std::string_view pattern, std::string_view path) {
  if (pattern == path) return pattern.size() + 2;  // more than any pattern with a star
  if (!pattern.ends_with("/*")) return 0;
  const std::string_view prefix = pattern.substr(0, pattern.size() - 1);
  return path.starts_with(prefix) ? prefix.size() : 0;
}

int StatusOf(Fault fault) {
  switch (fault) {
    case Fault::kNotFound:
      return 404;
    case Fault::kMethodNotAllowed:
      return 405;
    case Fault::kBodyTooLarge:
      return 413;
    case Fault::kOverloaded:
      return 503;
    case Fault::kUnauthorized:
      return 401;
    case Fault::kForeignHost:
    case Fault::kForeignOrigin:
      return 403;
    case Fault::kDraining:
      return 503;
    case Fault::kInternal:
      return 500;
  }
  return 500;
}

}  // namespace

void AddIfMissing(Headers& headers, std::string_view name, const std::string& value) {
  const bool there =
      std::ranges::any_of(headers, [&](const auto& header) { return header.first == name; });
  if (!there && !value.empty()) headers.emplace_back(name, value);
}

const Door* Router::DoorOfFaults(std::string_view path) const {
  const Door* best = nullptr;
  std::size_t longest = 0;
  for (const Door& door : doors_) {
    if (door.fault_prefixes.empty() && best == nullptr) best = &door;
    for (const std::string& prefix : door.fault_prefixes) {
      if (!path.starts_with(prefix) || prefix.size() <= longest) continue;
      best = &door;
      longest = prefix.size();
    }
  }
  return best;
}

Match Router::Find(std::string_view method, std::string_view path) const& {
  std::size_t heaviest = 0;
  for (const Door& door : doors_) {
    for (const Route& route : door.routes) heaviest = std::max(heaviest, Weight(route.path, path));
  }
  if (heaviest == 0) return {.door = DoorOfFaults(path)};
  Match match{.fault = Fault::kMethodNotAllowed};
  std::vector<std::string_view> methods;
  for (const Door& door : doors_) {
    for (const Route& route : door.routes) {
      if (Weight(route.path, path) != heaviest) continue;
      if (match.door == nullptr) match.door = &door;
      if (std::ranges::count(methods, route.method) == 0) methods.push_back(route.method);
      if (match.route != nullptr) continue;
      if (route.method == "GET" && method == "HEAD") match.access = route.access;
      if (route.method != method) continue;
      match.door = &door;
      match.route = &route;
      match.access = route.access;
    }
  }
  for (const std::string_view known : methods) {
    if (!match.allow.empty()) match.allow += ", ";
    match.allow += known;
  }
  return match;
}

std::string_view FaultName(Fault fault) {
  switch (fault) {
    case Fault::kNotFound:
      return "not_found";
    case Fault::kMethodNotAllowed:
      return "method_not_allowed";
    case Fault::kBodyTooLarge:
      return "body_too_large";
    case Fault::kOverloaded:
      return "overloaded";
    case Fault::kUnauthorized:
      return "unauthorized";
    case Fault::kForeignHost:
      return "foreign_host";
    case Fault::kForeignOrigin:
      return "foreign_origin";
    case Fault::kDraining:
      return "draining";
    case Fault::kInternal:
      return "failed";
  }
  return "failed";
}

Response Refuse(const Match& match, Fault fault, const Request& request) {
  Response response;
  if (match.door != nullptr && match.door->refuse != nullptr) {
    response = match.door->refuse(fault, request);
  } else {
    const bool foreign = fault == Fault::kForeignHost || fault == Fault::kForeignOrigin;
    response = PlainResponse(StatusOf(fault), foreign ? SiteComplaint(fault, request) : "");
  }
  if (fault == Fault::kMethodNotAllowed) AddIfMissing(response.headers, "Allow", match.allow);
  // Body memory is free again within seconds, and another server may take over at once.
  if (fault == Fault::kOverloaded || fault == Fault::kDraining) {
    AddIfMissing(response.headers, "Retry-After", "1");
  }
  if (fault == Fault::kUnauthorized) AddIfMissing(response.headers, "WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace polybox::http
