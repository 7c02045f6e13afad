// What a server does with memory that it has let go of. Output of programs is as large as they
// like, and pages that go back to the kernel after each answer come again for the next one, at a
// price of milliseconds for a megabyte.
#pragma once

namespace polybox {

/// Once, before there are threads: freed memory stays, some megabytes of it.
void KeepFreedMemory();

/// When nobody asks for anything: it goes back.
void GiveMemoryBack();

}  // namespace polybox
