// Keeps a cell's init to a small share of a processor. The init is outside its guest's cgroup. So
// nothing else bounds the cost of a guest that wakes the init all the time: by the last word, by
// orphans, by signals. The functions make raw system calls only: see raw.h.
#pragma once

#include <cstdint>

namespace polybox::jail::init {

class CpuShare {
 public:
  /// Counts the processor time that the calling process uses from here on.
  CpuShare();
  /// Sleeps when the calling process has used more than its share. The caller must block all
  /// signals that could interrupt the sleep.
  void Keep() const;

 private:
  std::int64_t used_before_ = 0;
  std::int64_t begin_ = 0;
};

}  // namespace polybox::jail::init
