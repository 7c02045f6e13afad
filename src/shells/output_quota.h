// The disk space that the stored output of all commands of one server may take together. Any
// thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/units.h"

namespace polybox::shells {

class OutputQuota {
 public:
  explicit OutputQuota(Bytes size) : left_(size.count()) {}

  /// Takes `size` and returns true, or takes nothing and returns false.
  bool Take(Bytes size) {
    std::uint64_t left = left_.load();
    while (left >= size.count()) {
      if (left_.compare_exchange_weak(left, left - size.count())) return true;
    }
    return false;
  }
  void Give(Bytes size) { left_ += size.count(); }

 private:
  std::atomic<std::uint64_t> left_;
};

}  // namespace polybox::shells
