// Sets what the server does with freed memory. Programs can produce large output. Without these
// settings, pages that go back to the kernel after each answer are needed again for the next
// answer, which costs milliseconds per megabyte.
#pragma once

namespace polybox {

/// Keeps up to 8 MiB of freed memory in the process. Call once, before there are threads.
void KeepFreedMemory();

/// Returns freed memory to the kernel. Called when the engine is idle.
void GiveMemoryBack();

}  // namespace polybox
