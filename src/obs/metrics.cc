#include "obs/metrics.h"

#include <chrono>

namespace polybox::obs {
namespace {

double Seconds(Duration time) {
  return std::chrono::duration<double>(time).count();
}

/// Bucket bounds from a warm start to the longest usual run, in seconds.
std::vector<double> TimeBounds() {
  return {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
}

/// Returns "2xx" and the like; "other" for what is no status.
std::string StatusClass(int status) {
  if (status == 101) return "101";
  return status >= 200 && status < 600 ? std::to_string(status / 100) + "xx" : "other";
}

}  // namespace

Metrics::Metrics()
    : requests_({"polybox_http_requests_total",
                 "Requests that were answered.",
                 {"door", "route", "status"}}),
      request_time_({"polybox_http_request_seconds",
                     "Time from the head of a request to the end of its answer.",
                     {"door", "route"}},
                    TimeBounds()),
      api_requests_({"sandbox_api_http_requests_total",
                     "Requests that were answered, by the class of their status.",
                     {"route", "status"}}),
      api_time_({"sandbox_api_http_duration_seconds",
                 "Time from the head of a request to the end of its answer.",
                 {"route"}},
                {0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120}),
      runs_(
          {"polybox_runs_total", "Requests that were executed.", {"language", "door", "outcome"}}),
      warm_runs_({"polybox_warm_runs_total",
                  "Runs that began in a process that was waiting.",
                  {"language", "door"}}),
      compile_cache_({"polybox_compile_cache_total",
                      "Programs that the compile cache had, and that it had not.",
                      {"language", "door", "result"}}),
      refusals_({"polybox_refusals_total", "Requests that were not executed.", {"door", "reason"}}),
      queue_time_({"polybox_queue_seconds", "Time that a request waited for its turn.", {"door"}},
                  TimeBounds()),
      install_time_({"polybox_install_seconds",
                     "Time that installing requirements took.",
                     {"language", "door"}},
                    TimeBounds()),
      compile_time_({"polybox_compile_seconds", "Wall time of compilers.", {"language", "door"}},
                    TimeBounds()),
      run_time_({"polybox_run_seconds", "Wall time of programs.", {"language", "door", "outcome"}},
                TimeBounds()) {}

void Metrics::RequestAnswered(const RequestFigures& request) {
  requests_.Add({request.door, request.route, std::to_string(request.status)});
  request_time_.Observe({request.door, request.route}, Seconds(request.time));
  api_requests_.Add({request.route, StatusClass(request.status)});
  api_time_.Observe({request.route}, Seconds(request.time));
}

void Metrics::RunEnded(const RunFigures& run) {
  runs_.Add({run.language, run.door, run.outcome});
  if (run.warm) warm_runs_.Add({run.language, run.door});
  queue_time_.Observe({run.door}, Seconds(run.queued));
  if (run.install) install_time_.Observe({run.language, run.door}, Seconds(*run.install));
  if (run.compile) compile_time_.Observe({run.language, run.door}, Seconds(*run.compile));
  if (run.compile_hit) {
    compile_cache_.Add({run.language, run.door, *run.compile_hit ? "hit" : "miss"});
  }
  if (run.run) run_time_.Observe({run.language, run.door, run.outcome}, Seconds(*run.run));
}

void Metrics::RunRefused(std::string_view door, std::string_view reason) {
  refusals_.Add({std::string(door), std::string(reason)});
}

void Metrics::AddGauge(std::string name, std::string help, std::function<double()> value) {
  gauges_.push_back({{std::move(name), std::move(help)}, std::move(value)});
}

void Metrics::AddCounters(KeptCounters counters) {
  kept_counters_.push_back(std::move(counters));
}

void Metrics::AddPage(std::function<void(std::string& text)> page) {
  pages_.push_back(std::move(page));
}

std::string Metrics::Render() const {
  std::string text;
  for (const Gauge& gauge : gauges_) gauge.AppendTo(text);
  for (const Counters* counters :
       {&requests_, &api_requests_, &runs_, &warm_runs_, &compile_cache_, &refusals_}) {
    counters->AppendTo(text);
  }
  for (const KeptCounters& counters : kept_counters_) counters.AppendTo(text);
  for (const Histograms* histograms :
       {&request_time_, &api_time_, &queue_time_, &install_time_, &compile_time_, &run_time_}) {
    histograms->AppendTo(text);
  }
  for (const auto& page : pages_) page(text);
  return text;
}

}  // namespace polybox::obs
