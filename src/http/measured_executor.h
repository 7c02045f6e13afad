// An engine that is counted: hands everything on to another and writes down how each request went.
// So neither doors nor the engine know about metrics.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/engine.h"
#include "obs/metrics.h"

namespace polybox::http {

class MeasuredExecutor : public exec::Executor {
 public:
  /// Both must outlive it and every request. `doors` are the names of the lanes.
  MeasuredExecutor(exec::Executor& executor, obs::Metrics& metrics, std::vector<std::string> doors)
      : executor_(executor), metrics_(metrics), doors_(std::move(doors)) {}

  std::shared_ptr<exec::Ticket> Submit(exec::Request request, Done done) override;
  exec::LaneLoad Load(std::size_t lane) const override { return executor_.Load(lane); }
  void Drain() override { executor_.Drain(); }
  bool AwaitIdle(Duration time) override { return executor_.AwaitIdle(time); }
  void CancelAll() override { executor_.CancelAll(); }

 private:
  exec::Executor& executor_;
  obs::Metrics& metrics_;
  std::vector<std::string> doors_;
};

/// The four gauges of the run dialect, for the lane of its door.
void AddRunGauges(obs::Metrics& metrics, const exec::Executor& executor, std::size_t lane,
                  const exec::Lane& rules);

}  // namespace polybox::http
