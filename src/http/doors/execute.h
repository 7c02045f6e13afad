// The execute dialect: POST /execute and GET /health. A server has one default language (its mode);
// requests may name any available language. Extensions of the old contract only add members to
// requests and results, and results as a stream of events.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "exec/engine.h"
#include "http/doors/languages.h"
#include "http/exchange.h"
#include "jail/grade.h"

namespace polybox::http {

/// The health of the server. The worst problem decides.
enum class HealthStatus {
  kHealthy,
  kDegraded,   ///< The server answers, but not as well as it should.
  kUnhealthy,  ///< Clients should send no requests: the server is about to end or cannot run
               ///< programs.
};

struct Health {
  HealthStatus status = HealthStatus::kHealthy;
  /// The problems, a sentence each.
  std::vector<std::string> reasons;
};

struct ExecuteOptions {
  /// The languages that run on this server, sorted by id.
  std::vector<LanguageFacts> languages;
  /// The answer to GET /languages (language_list.h).
  std::string language_list;
  /// Returns why a known language does not run on this server; "" for any other name. May be null,
  /// which means that no reasons are known.
  std::function<std::string(std::string_view name)> why_not;
  /// The name of the mode, and the id of the mode's language.
  std::string mode;
  std::string language;
  /// The number of the lane in the engine, and how many requests run at once in this lane.
  std::size_t lane = 0;
  std::int64_t capacity = 1;
  Duration default_timeout = std::chrono::seconds(30);
  /// The contract of /execute has no upper bound for timeouts. A larger timeout is cut to this one,
  /// and the result says so.
  Duration largest_timeout = std::chrono::seconds(300);
  std::string output_directory = "output";
  std::size_t largest_body = 10U << 20U;
  jail::Grade isolation = jail::Grade::kNone;
  /// Called for each GET /health; null means always healthy.
  std::function<Health()> health;
  const Clock* clock = &Clock::System();
};

struct DoorRow;
extern const DoorRow kExecuteDoor;

struct DoorParts;
/// Returns the options of the door of a server with these parts.
ExecuteOptions ExecuteOptionsFor(const DoorParts& parts);

/// A body of POST /execute that has `command` instead of `code`. Such a request belongs to the
/// Kubernetes runtime API.
struct CommandCall {
  std::string command;
  /// The timeout, if the request names one.
  std::optional<Duration> timeout;
  /// Warnings about the request, for the answer.
  std::vector<std::string> warnings = {};
};
using CommandHandler = std::function<void(const std::shared_ptr<Exchange>&, const CommandCall&)>;

/// Makes the door. `executor` must outlive the door and all its exchanges. If `commands` is null,
/// the door ignores the member `command`.
Door MakeExecuteDoor(exec::Executor& executor, ExecuteOptions options, CommandHandler commands);

}  // namespace polybox::http
