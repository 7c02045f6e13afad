// From the settings in force to a running server: everything of `polybox serve` but the engine and
// the doors, which the caller brings.
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
  /// Must outlive the call, as the metrics must; their doors refer to them.
  exec::Executor& executor;
  obs::Metrics& metrics;
  std::shared_ptr<http::Readiness> readiness;
  /// Made by http::StopSignals before any thread; borrowed.
  int signals = -1;
  /// All but the addresses and the token file, which the settings have.
  http::BannerFacts banner;
};

/// Listens as the settings say, prints the banner on a terminal, and answers until it is told to
/// end. The exit code.
int ServeUntilSignalled(Serving serving, const Context& context);

}  // namespace polybox::cmd
