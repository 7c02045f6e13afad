// Doors for tests of the server. One door answers faults below /v1/ in JSON, the other answers all
// other faults.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "http/exchange.h"

namespace polybox::http::testing {

/// Exchanges that a handler leaves open for the test to answer.
class Held {
 public:
  void Put(const std::shared_ptr<Exchange>& exchange) {
    const std::lock_guard lock(mutex_);
    held_.push_back(exchange);
    arrived_.notify_all();
  }
  /// Waits for an exchange and returns the first.
  std::shared_ptr<Exchange> Take() {
    std::unique_lock lock(mutex_);
    if (!arrived_.wait_for(lock, std::chrono::seconds(10), [this] { return !held_.empty(); })) {
      throw std::runtime_error("no request has come");
    }
    std::shared_ptr<Exchange> first = std::move(held_.front());
    held_.erase(held_.begin());
    return first;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::shared_ptr<Exchange>> held_;
};

inline Response Text(int status, std::string body) {
  return {.status = status, .content_type = "text/plain", .body = std::move(body), .headers = {}};
}

inline std::string FaultName(Fault fault) {
  switch (fault) {
    case Fault::kNotFound:
      return "not found";
    case Fault::kMethodNotAllowed:
      return "method not allowed";
    case Fault::kOverloaded:
      return "overloaded";
    case Fault::kBodyTooLarge:
      return "body too large";
    case Fault::kUnauthorized:
      return "unauthorized";
    case Fault::kForeignHost:
      return "foreign host";
    case Fault::kForeignOrigin:
      return "foreign origin";
    case Fault::kDraining:
      return "draining";
    case Fault::kInternal:
      return "internal";
  }
  return "";
}

inline int FaultStatus(Fault fault) {
  constexpr int kStatuses[] = {404, 405, 413, 503, 401, 403, 403, 503, 500};
  return kStatuses[static_cast<int>(fault)];
}

/// Returns the route, so that a test can change it. Throws when no door has it.
inline Route& RouteOf(std::vector<Door>& doors, std::string_view method, std::string_view path) {
  for (Door& door : doors) {
    for (Route& route : door.routes) {
      if (route.method == method && route.path == path) return route;
    }
  }
  throw std::runtime_error("no such route");
}

/// POST /echo answers with the body. GET /held and POST /held wait for the test.
inline Door PlainDoor(Held& held) {
  const Handler hold = [&held](const std::shared_ptr<Exchange>& exchange) { held.Put(exchange); };
  const Handler hello = [](const std::shared_ptr<Exchange>& exchange) {
    exchange->Respond(Text(200, "hello"));
  };
  return {.name = "plain",
          .routes = {{"GET", "/hello", hello},
                     {"HEAD", "/hello", hello},
                     {"POST", "/echo",
                      [](const std::shared_ptr<Exchange>& exchange) {
                        exchange->Respond(Text(200, exchange->request().body));
                      },
                      1000},
                     {"GET", "/who",
                      [](const std::shared_ptr<Exchange>& exchange) {
                        exchange->Respond(Text(200, exchange->request().client));
                      }},
                     {"GET", "/files/*",
                      [](const std::shared_ptr<Exchange>& exchange) {
                        exchange->Respond(Text(200, exchange->request().path));
                      }},
                     {"GET", "/throw",
                      [](const std::shared_ptr<Exchange>&) { throw std::runtime_error("oops"); }},
                     {"GET", "/dropped", [](const std::shared_ptr<Exchange>&) {}},
                     {"GET", "/held", hold},
                     {"HEAD", "/held", hold},
                     {"POST", "/held", hold}},
          .refuse =
              [](Fault fault, const Request& request) {
                return Text(FaultStatus(fault),
                            fmt::format("plain: {} {}", FaultName(fault), request.path));
              },
          .fault_prefixes = {}};
}

inline Door JsonDoor() {
  return {.name = "json",
          .routes = {{"OPTIONS", "/v1/run",
                      [](const std::shared_ptr<Exchange>& exchange) {
                        exchange->Respond(
                            {.status = 204, .content_type = "", .body = "", .headers = {}});
                      }},
                     {"POST", "/v1/run",
                      [](const std::shared_ptr<Exchange>& exchange) {
                        exchange->Respond({.status = 200,
                                           .content_type = "application/json",
                                           .body = "{}\n",
                                           .headers = {{"X-Extra", "1"}, {"X-Bad", "a\r\nb: c"}}});
                      },
                      10}},
          .refuse =
              [](Fault fault, const Request& request) {
                // As in the run dialect, a body of unknown length causes another fault.
                const bool known = request.has_content_length || fault != Fault::kBodyTooLarge;
                return Response{.status = known ? FaultStatus(fault) : 400,
                                .content_type = "application/json",
                                .body = fmt::format("{{\"code\":\"{}\"}}\n", FaultName(fault)),
                                .headers = {}};
              },
          .fault_prefixes = {"/v1/"}};
}

}  // namespace polybox::http::testing
