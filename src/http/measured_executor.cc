#include "http/measured_executor.h"

#include <variant>

#include "jail/outcome.h"

namespace polybox::http {
namespace {

std::string_view NameOf(exec::RefusalKind kind) {
  switch (kind) {
    case exec::RefusalKind::kBusy:
      return "busy";
    case exec::RefusalKind::kQueueTimeout:
      return "queue_timeout";
    case exec::RefusalKind::kDraining:
      return "draining";
    case exec::RefusalKind::kCancelled:
      return "cancelled";
    case exec::RefusalKind::kInvalid:
      return "invalid";
    case exec::RefusalKind::kUnavailable:
      return "unavailable";
    case exec::RefusalKind::kFailed:
      return "failed";
  }
  return "failed";
}

std::string OutcomeOf(const exec::Report& report) {
  if (report.install_failure) return "install_failed";
  if (report.run) return std::string(jail::EndName(report.run->outcome.end));
  if (!report.compile) return "nothing";
  const jail::Outcome& outcome = report.compile->outcome;
  return outcome.end == jail::End::kExited ? "compile_failed"
                                           : "compile_" + std::string(jail::EndName(outcome.end));
}

obs::RunFigures FiguresOf(const exec::Report& report, std::string language, std::string door) {
  obs::RunFigures figures;
  figures.language = std::move(language);
  figures.door = std::move(door);
  figures.outcome = OutcomeOf(report);
  figures.queued = report.queued;
  if (report.install != Duration{}) figures.install = report.install;
  if (report.compile) figures.compile = report.compile->outcome.wall;
  if (report.run) figures.run = report.run->outcome.wall;
  figures.compile_hit = report.compile_hit;
  figures.warm = report.warm;
  return figures;
}

struct Count {
  obs::Metrics& metrics;
  std::string door;
  std::string language;

  void operator()(const exec::Report& report) const {
    metrics.RunEnded(FiguresOf(report, language, door));
  }
  /// Its language may be anything that a client wrote: it is no label.
  void operator()(const exec::Refusal& refusal) const {
    metrics.RunRefused(door, NameOf(refusal.kind));
  }
};

}  // namespace

std::shared_ptr<exec::Ticket> MeasuredExecutor::Submit(exec::Request request, Done done) {
  Count count{metrics_, request.lane < doors_.size() ? doors_[request.lane] : "", request.language};
  return executor_.Submit(std::move(request),
                          [count = std::move(count), done = std::move(done)](exec::Answer answer) {
                            std::visit(count, answer);
                            done(std::move(answer));
                          });
}

void AddRunGauges(obs::Metrics& metrics, const exec::Executor& executor, std::size_t lane,
                  const exec::Lane& rules) {
  metrics.AddGauge("sandbox_concurrency_active", "Number of requests that are being executed.",
                   [&executor, lane] { return static_cast<double>(executor.Load(lane).running); });
  metrics.AddGauge("sandbox_queue_length", "Number of requests that wait for their turn.",
                   [&executor, lane] { return static_cast<double>(executor.Load(lane).queued); });
  metrics.AddGauge("sandbox_concurrency_max", "Most requests that are executed at once.",
                   [most = static_cast<double>(rules.concurrency)] { return most; });
  metrics.AddGauge("sandbox_queue_max", "Most requests that may wait for their turn.",
                   [most = static_cast<double>(rules.queue)] { return most; });
}

}  // namespace polybox::http
