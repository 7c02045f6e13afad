// What polybox counts about itself, for Prometheus. Any thread. Labels come from our own tables
// (doors, routes, languages, outcomes), never from what a client wrote.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "obs/families.h"

namespace polybox::obs {

/// Its type in HTTP.
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

/// A request that was executed.
struct RunFigures {
  std::string language;
  std::string door;
  /// How its last step ended: exited, timed_out, install_failed, ...
  std::string outcome;
  Duration queued{};
  std::optional<Duration> install;
  std::optional<Duration> compile;
  /// Whether the compile cache had it; absent when it was not asked.
  std::optional<bool> compile_hit;
  std::optional<Duration> run;
  bool warm = false;
};

/// A request that the server answered, executed or not.
struct RequestFigures {
  std::string door;
  /// The path of its route; "" when there was none.
  std::string route;
  int status = 0;
  Duration time{};
};

class Metrics {
 public:
  Metrics();

  void RequestAnswered(const RequestFigures& request);
  void RunEnded(const RunFigures& run);
  /// `reason` is one of the engine's kinds: busy, queue_timeout, ...
  void RunRefused(std::string_view door, std::string_view reason);
  /// A figure that is asked for when it is shown. Before the first Render.
  void AddGauge(std::string name, std::string help, std::function<double()> value);
  /// The same for counters that are kept elsewhere.
  void AddCounters(KeptCounters counters);

  /// The page of /metrics.
  std::string Render() const;

 private:
  std::vector<Gauge> gauges_;
  std::vector<KeptCounters> kept_counters_;
  Counters requests_;
  Histograms request_time_;
  Counters runs_;
  Counters warm_runs_;
  Counters compile_cache_;
  Counters refusals_;
  Histograms queue_time_;
  Histograms install_time_;
  Histograms compile_time_;
  Histograms run_time_;
};

}  // namespace polybox::obs
