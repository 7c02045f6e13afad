// What tools and commands call to check a project: it finds the project, its language, the command
// and the machine, runs the check and remembers failures. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "languages/registry.h"
#include "verify/detectors.h"
#include "verify/memory.h"
#include "verify/run_check.h"
#include "workspace/workspace.h"

namespace polybox::verify {

/// A check that somebody wants.
struct CheckRequest {
  Check check = Check::kTest;
  /// The name of the caller, for errors.
  std::string tool = {};
  /// See Detectors::Wish.
  std::string language = {};
  PlanOptions options = {};
  RunOptions run = {};
};

class Verification {
 public:
  /// Loads the language files, when a check first needs them.
  using LoadRegistry = std::function<Result<languages::Registry>()>;

  Verification(LoadRegistry load, std::string cache_dir)
      : load_(std::move(load)), memory_(std::move(cache_dir)) {}

  /// Returns the detectors; an error means a bad language file.
  Result<const Detectors*> FindDetectors();
  const Memory& memory() const { return memory_; }

  /// Runs the check for each language that the request means, one after the other. A run of all
  /// tests, or of those that match a filter, is remembered. An error means that nothing ran.
  Result<std::vector<CheckResult>> Run(const Ground& ground, const Project& project,
                                       const CheckRequest& request);

 private:
  const LoadRegistry load_;
  const Memory memory_;
  std::mutex mutex_;
  // Both guarded by `mutex_`, and immutable once they are there.
  std::optional<Result<languages::Registry>> registry_;
  std::unique_ptr<const Detectors> detectors_;
};

}  // namespace polybox::verify
