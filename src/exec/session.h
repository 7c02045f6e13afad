// One request in one slot: its files, its steps, what it leaves behind.
#pragma once

#include <atomic>
#include <mutex>

#include "base/result.h"
#include "exec/launch.h"
#include "exec/request.h"
#include "jail/slot.h"

namespace polybox::exec {

class Session {
 public:
  /// What the installation refers to and the request are borrowed.
  Session(const Installation& installation, const Request& request)
      : installation_(installation), request_(request) {}

  /// Fills in compile, run and artifacts. An error of kind kInvalid is the request's fault; any
  /// other means that the slot is broken.
  Status Run(jail::Slot& slot, Report& report);
  /// Ends what runs and starts nothing more. Any thread.
  void Cancel();
  bool cancelled() const { return cancelled_; }

 private:
  Result<StepReport> RunStep(jail::Slot& slot, StepKind kind);
  Status Collect(jail::Slot& slot, Report& report) const;

  Installation installation_;
  const Request& request_;
  std::mutex mutex_;
  /// While a step runs.
  const jail::Slot* slot_ = nullptr;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace polybox::exec
