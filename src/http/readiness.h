// Tells whether the server should get requests: not while it drains, and not when no program can
// run. Any thread may use it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace polybox::http {

/// What is wrong with the server: a sentence for each problem, without paths of the host.
struct Condition {
  /// Problems because of which no requests should be sent; empty when the server is ready.
  std::vector<std::string> obstacles;
  /// Problems that do not keep programs from running.
  std::vector<std::string> remarks;
};

class Readiness {
 public:
  struct Options {
    /// The directory for package sets and compiled programs; "" when there is none.
    std::string cache_dir;
    /// A disk with less free space counts as full: an answer of the largest size must still fit.
    Bytes least_free = Bytes::MiB(64);
  };

  explicit Readiness(Options options) : options_(std::move(options)) {}

  void Drain() { draining_ = true; }
  bool draining() const { return draining_; }

  /// Stores the result of the last trial, which shows whether a program can run in a slot.
  void SetTrial(const Status& trial);
  struct Pauses {
    Duration shortest;
    Duration longest;
  };
  /// Waits at least `pauses.shortest`, then until Look() has been called since the last call, at
  /// most `pauses.longest`. Returns false when `stop` is requested.
  bool AwaitQuestion(const std::stop_token& stop, Pauses pauses) const;

  /// Returns the current condition, and wakes AwaitQuestion().
  Condition Look() const;

 private:
  Options options_;
  std::atomic<bool> draining_ = false;
  /// Guards question_ and trial_failure_.
  mutable std::mutex mutex_;
  mutable std::condition_variable_any asked_;
  /// Look() has been called since the last AwaitQuestion().
  mutable bool question_ = false;
  /// Why the last trial failed; "" when it succeeded.
  std::string trial_failure_;
};

/// Returns the text with each path replaced by "a path". Probes need no token, so answers to them
/// must not contain paths of the host.
std::string WithoutPaths(std::string_view text);

}  // namespace polybox::http
