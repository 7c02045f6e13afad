// Runs the HTTP server of `polybox serve` by the settings. The caller brings the engine and the
// doors.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "command.h"
#include "exec/engine.h"
#include "http/banner.h"
#include "http/exchange.h"
#include "http/readiness.h"
#include "obs/metrics.h"

namespace polybox::cmd {

struct Serving {
  std::vector<http::Door> doors;
  /// The executor and the metrics must outlive the call, because the doors refer to them.
  exec::Executor& executor;
  obs::Metrics& metrics;
  std::shared_ptr<http::Readiness> readiness;
  /// From http::StopSignals(), made before any thread is started; borrowed.
  int signals = -1;
  /// Everything but the addresses and the token file, which come from the settings.
  http::BannerFacts banner;
};

/// Listens, prints the banner on a terminal, and answers requests until a signal arrives. Returns
/// the exit code.
int ServeUntilSignalled(Serving serving, const Context& context);

}  // namespace polybox::cmd
