// Runs a server from start to end: it listens, answers until a signal tells it to end, and then
// lets running requests finish.
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

/// The addresses on which the server listens.
struct ListenAddresses {
  /// "HOST:PORT".
  std::string tcp;
  /// A second port on the same host; 0 for none.
  std::int64_t runtime_port = 0;
  /// The path of a Unix socket; "" for none.
  std::string unix_socket;
  /// Allows an address that other machines can reach although no token is needed.
  bool insecure = false;
};

struct ServeParts {
  /// Contains the doors. Serve() adds the observer.
  ServerOptions server;
  ListenAddresses listen;
  /// The executor must outlive the call of Serve().
  exec::Executor& executor;
  obs::Metrics& metrics;
  std::shared_ptr<Readiness> readiness;
  /// How long running requests may continue after the signal to end.
  Duration drain_time = std::chrono::seconds(10);
  /// A descriptor of StopSignals() (borrowed). It becomes readable when a signal to end has
  /// arrived.
  int signals = -1;
  /// Called with the actual addresses once the server listens on all of them; may be null.
  std::function<void(const std::vector<std::string>&)> started;
};

enum class ServeEnd {
  kDrained,      ///< All requests finished.
  kCancelled,    ///< The drain time passed, and the remaining requests were cancelled.
  kInterrupted,  ///< A second signal arrived.
};

/// Listens, answers requests and returns when the server has ended. The error says why the server
/// could not start, and how to fix that.
Result<ServeEnd> Serve(ServeParts parts, const log::Logger& log);

/// Returns a descriptor from which SIGTERM and SIGINT can be read. Blocks these signals for the
/// calling thread and the threads that it starts. Therefore call this before any other thread
/// exists.
Result<UniqueFd> StopSignals();

/// Returns whether other machines can reach the address and no token is needed.
Result<bool> IsOpenToAll(const ListenAddresses& listen, const Tokens& tokens);
/// Returns an error for such an address, unless the operator allows it with `insecure`.
Status CheckExposure(const ListenAddresses& listen, const Tokens& tokens);

}  // namespace polybox::http
