#include "memory.h"

#include <malloc.h>

namespace polybox {

void KeepFreedMemory() {
  constexpr int kKept = 8 << 20;
  // One heap for all threads, because malloc only ever returns memory of the first heap to the
  // kernel. The threads seldom compete for the heap: they mostly wait for programs.
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_TRIM_THRESHOLD, kKept);
  ::mallopt(M_MMAP_THRESHOLD, kKept);
}

void GiveMemoryBack() {
  ::malloc_trim(0);
}

}  // namespace polybox
