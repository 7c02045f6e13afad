// One request in one slot: its files, its steps, what it leaves behind.
#pragma once

#include <atomic>
#include <mutex>
#include <stop_token>

#include "base/result.h"
#include "exec/compile_cache.h"
#include "exec/compile_step.h"
#include "exec/launch.h"
#include "exec/request.h"
#include "exec/space_watch.h"
#include "jail/slot.h"
#include "net/egress_proxy.h"

namespace polybox::exec {

class Session {
 public:
  /// All borrowed; the cache and the network of the slot may be null.
  explicit Session(const Request& request, CompileCache* cache = nullptr,
                   net::EgressProxy* egress = nullptr)
      : request_(request), cache_(cache), egress_(egress) {}

  /// Fills in compile, run and artifacts. An error of kind kInvalid is the request's fault; any
  /// other means that the slot is broken.
  Status Run(jail::Slot& slot, Installation installation, Report& report);
  /// Fills in run. `space` may be null.
  Status RunCommand(jail::Slot& slot, jail::RunRequest run, SpaceWatch* space, Report& report);
  /// Ends what runs and starts nothing more. Any thread.
  void Cancel();
  bool cancelled() const { return cancelled_; }

 private:
  struct Step;

  /// What is executed, as the request wants it.
  Result<Step> StepFor(const Installation& installation, StepKind kind) const;
  /// Puts the files into the slot as well.
  Status Compile(jail::Slot& slot, const Installation& installation,
                 const std::vector<jail::InputFile>& files, Report& report);
  Result<StepReport> Perform(jail::Slot& slot, StepKind kind, const Step& step);
  Result<jail::Outcome> RunIn(jail::Slot& slot, StepKind kind, const Step& step,
                              const Listener& listener);
  Status Collect(jail::Slot& slot, Report& report) const;
  /// Any thread, more than once.
  void EndForWantOfSpace(const std::string& reason);

  const Request& request_;
  CompileCache* cache_;
  net::EgressProxy* egress_;
  std::stop_source stop_;
  std::mutex mutex_;
  /// While a step runs.
  const jail::Slot* slot_ = nullptr;
  std::atomic<bool> cancelled_ = false;
  /// Why there is too little space; "" while there is enough.
  std::string no_space_;
};

}  // namespace polybox::exec
