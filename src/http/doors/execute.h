// The execute dialect: POST /execute and GET /health. One language by default (the server's mode),
// any that is available on request. What it adds to the old contract is additive: more members of a
// request, more members of a result, results as a stream of events.
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

/// How the server is; the worst of what is wrong decides.
enum class HealthStatus {
  kHealthy,
  kDegraded,   ///< It answers, but not as well as it should.
  kUnhealthy,  ///< Send nothing here: it is about to end, or cannot run anything.
};

struct Health {
  HealthStatus status = HealthStatus::kHealthy;
  /// What is wrong, a sentence each.
  std::vector<std::string> reasons;
};

struct ExecuteOptions {
  /// Those that run here, in alphabetical order of their ids.
  std::vector<LanguageFacts> languages;
  /// What keeps a known language from running here; "" for all others. Null: nothing is known.
  std::function<std::string(std::string_view name)> why_not;
  /// The name of the mode, and the id of the language it stands for.
  std::string mode;
  std::string language;
  /// Its admission rules in the engine, and how many run at once under them.
  std::size_t lane = 0;
  std::int64_t capacity = 1;
  Duration default_timeout = std::chrono::seconds(30);
  /// The old contract knows no upper bound; what is above ours is cut, and the result says so.
  Duration largest_timeout = std::chrono::seconds(300);
  std::string output_directory = "output";
  std::size_t largest_body = 10U << 20U;
  jail::Grade isolation = jail::Grade::kNone;
  /// Asked for each GET /health; null: always healthy.
  std::function<Health()> health;
  const Clock* clock = &Clock::System();
};

/// A body of POST /execute with `command` instead of `code`: the Kubernetes runtime API.
struct CommandCall {
  std::string command;
  /// When the request asked for one.
  std::optional<Duration> timeout;
};
using CommandHandler = std::function<void(const std::shared_ptr<Exchange>&, const CommandCall&)>;

/// `executor` must outlive the door and all its exchanges. Without `commands` there is no
/// `command`.
Door MakeExecuteDoor(exec::Executor& executor, ExecuteOptions options, CommandHandler commands);

}  // namespace polybox::http
