// An exec::Executor that forwards every call to another executor and records metrics of each
// request. Doors and the engine therefore need no code for metrics. Any thread may use it.
#pragma once

#include <memory>
#include <vector>

#include "exec/engine.h"
#include "obs/metrics.h"

namespace polybox::http {

class MeasuredExecutor : public exec::Executor {
 public:
  /// `executor` and `metrics` must outlive this object and every request. `lanes` are those of the
  /// executor; their names are labels.
  MeasuredExecutor(exec::Executor& executor, obs::Metrics& metrics, std::vector<exec::Lane> lanes)
      : executor_(executor), metrics_(metrics), lanes_(std::move(lanes)) {}

  std::shared_ptr<exec::Ticket> Submit(exec::Request request, Done done) override;
  exec::LaneLoad Load(std::size_t lane) const override { return executor_.Load(lane); }
  void Drain() override { executor_.Drain(); }
  bool AwaitIdle(Duration time) override { return executor_.AwaitIdle(time); }
  void CancelAll() override { executor_.CancelAll(); }

 private:
  exec::Executor& executor_;
  obs::Metrics& metrics_;
  std::vector<exec::Lane> lanes_;
};

/// Adds the four gauges of the run dialect, for the lane of its door.
void AddRunGauges(obs::Metrics& metrics, const exec::Executor& executor, std::size_t lane,
                  const exec::Lane& rules);

}  // namespace polybox::http
