// The metrics that polybox exports to Prometheus. Any thread may use them. Label values come from
// polybox's own tables (doors, routes, languages, outcomes), never from a client's text.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "obs/families.h"

namespace polybox::obs {

/// The figures of a request that was executed.
struct RunFigures {
  std::string language;
  std::string door;
  /// How the last step ended: exited, timed_out, install_failed, ...
  std::string outcome;
  Duration queued{};
  std::optional<Duration> install;
  std::optional<Duration> compile;
  /// Whether the result came from the compile cache; absent when the cache was not used.
  std::optional<bool> compile_hit;
  std::optional<Duration> run;
  bool warm = false;
};

/// The figures of a request that the server answered, executed or not.
struct RequestFigures {
  std::string door;
  /// The path of the request's route; "" when there was none.
  std::string route;
  int status = 0;
  Duration time{};
};

class Metrics {
 public:
  Metrics();

  void RequestAnswered(const RequestFigures& request);
  void RunEnded(const RunFigures& run);
  /// `reason` is the name of an engine refusal: busy, queue_timeout, ...
  void RunRefused(std::string_view door, std::string_view reason);
  /// Adds a gauge whose value is read each time the metrics are shown. Call before the first
  /// Render(), because the list is not locked.
  void AddGauge(std::string name, std::string help, std::function<double()> value);
  /// Adds counters that another object keeps. Call before the first Render().
  void AddCounters(KeptCounters counters);

  /// Adds families that another object renders. Call before the first Render().
  void AddPage(std::function<void(std::string& text)> page);

  /// Returns the text of /metrics.
  std::string Render() const;

 private:
  /// Not locked: filled before the first Render(), and only read later.
  std::vector<Gauge> gauges_;
  std::vector<KeptCounters> kept_counters_;
  std::vector<std::function<void(std::string&)>> pages_;
  // Each of these has its own lock. A request that is counted while Render() runs may therefore be
  // in one family and not yet in another.
  Counters requests_;
  Histograms request_time_;
  /// The same by the names and labels of an older server, for its dashboards.
  Counters api_requests_;
  Histograms api_time_;
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
