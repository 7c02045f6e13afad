#include "memory.h"

#include <malloc.h>

namespace polybox {

void KeepFreedMemory() {
  constexpr int kKept = 8 << 20;
  // One heap for all threads, which wait for programs most of the time: of more than one, only the
  // first is ever given back.
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_TRIM_THRESHOLD, kKept);
  ::mallopt(M_MMAP_THRESHOLD, kKept);
}

void GiveMemoryBack() {
  ::malloc_trim(0);
}

}  // namespace polybox
