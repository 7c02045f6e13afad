#include "http/measured_executor.h"

#include <variant>

#include "http/run_note.h"

namespace polybox::http {
namespace {

obs::RunFigures FiguresOf(const exec::Report& report, std::string language, std::string door) {
  obs::RunFigures figures;
  figures.language = std::move(language);
  if (!report.fallback_language.empty()) figures.language = report.fallback_language;
  figures.door = std::move(door);
  figures.outcome = OutcomeName(report);
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
  /// The requested language of a refused request can be any text of the client, so it is not a
  /// label.
  void operator()(const exec::Refusal& refusal) const {
    metrics.RunRefused(door, RefusalName(refusal.kind));
  }
};

}  // namespace

std::shared_ptr<exec::Ticket> MeasuredExecutor::Submit(exec::Request request, Done done) {
  Count count{metrics_, request.lane < lanes_.size() ? lanes_[request.lane].name : "",
              exec::LanguageOf(request)};
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
