// Whether the server should be sent requests: not while it drains, and not when the disk of its
// cache is full. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/units.h"
#include "http/exchange.h"

namespace polybox::http {

class Readiness {
 public:
  struct Options {
    /// Where package sets and compiled programs go; "" when there is no such place.
    std::string cache_dir;
    /// Less than this counts as full: an answer of the largest size must still find room.
    Bytes least_free = Bytes::MiB(64);
  };

  explicit Readiness(Options options) : options_(std::move(options)) {}

  void Drain() { draining_ = true; }
  bool draining() const { return draining_; }
  /// What stands against it, a sentence each, without paths of the host; empty when it is ready.
  std::vector<std::string> Obstacles() const;

 private:
  Options options_;
  std::atomic<bool> draining_ = false;
};

/// GET and HEAD /readyz: 200 or 503 and the obstacles, as JSON.
Door MakeReadyDoor(std::shared_ptr<const Readiness> readiness);

}  // namespace polybox::http
