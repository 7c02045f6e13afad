// The life of a server: it listens, answers until it is told to end, and then lets what runs
// finish.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "exec/engine.h"
#include "http/readiness.h"
#include "http/server.h"
#include "obs/metrics.h"

namespace polybox::http {

/// Where to listen.
struct Places {
  /// "HOST:PORT".
  std::string listen;
  /// On the same host; 0 for none.
  std::int64_t runtime_port = 0;
  /// "" for none.
  std::string unix_socket;
  /// Allows an address that other machines reach without a token.
  bool insecure = false;
};

struct ServeParts {
  /// With the doors; those of /readyz and /openapi.json, the observer and the paths that need no
  /// token are added.
  ServerOptions server;
  /// Ours, as the API document names it.
  std::string version = {};
  Places places;
  /// Must outlive the call.
  exec::Executor& executor;
  obs::Metrics& metrics;
  std::shared_ptr<Readiness> readiness;
  /// How long what runs may go on once the server is told to end.
  Duration drain_time = std::chrono::seconds(10);
  /// Borrowed; readable when a signal to end has come: see StopSignals.
  int signals = -1;
  /// Called with the addresses as they are once all of them listen; may be null.
  std::function<void(const std::vector<std::string>&)> started;
};

enum class Ended {
  kDrained,      ///< Everything that ran has finished.
  kCancelled,    ///< The time was up; what still ran was ended.
  kInterrupted,  ///< A second signal came.
};

/// Returns when the server has ended. An error when it could not start, with a fix.
Result<Ended> Serve(ServeParts parts, const log::Logger& log);

/// A descriptor that SIGTERM and SIGINT can be read from. Blocks them for this thread and those
/// that it starts, so it must be called before any thread is.
Result<UniqueFd> StopSignals();

/// What probes ask, which needs no token: "GET /health".
std::vector<std::string> OpenRequests();

/// Whether other machines reach the address and nobody has to bring a token.
Result<bool> IsOpenToAll(const Places& places, const Tokens& tokens);
/// Refuses such an address unless that is wanted.
Status CheckExposure(const Places& places, const Tokens& tokens);

}  // namespace polybox::http
