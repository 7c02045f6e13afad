// The warm library: the part of polybox inside an interpreter that is started ahead of its program.
// The library is loaded by LD_PRELOAD and removes every trace of that. Until the program begins, it
// gives three functions of the C library another meaning. So a driver in the interpreter's own
// language (`warm.program` in a language file) can control any interpreter:
//
//   fork()    In a zygote: returns 0 in a new process for every cell that asks for a guest. That
//             process is in the cell's namespaces and cgroups and has no rights. fork() never
//             returns in the zygote. In Python it only offers a function that does all this.
//   read(62)  In such a process, or in an interpreter that was started in its cell: waits for the
//             run and takes its streams, directory, limits, arguments, environment and filter.
//             Returns a text: the number of arguments, the arguments, then the variables, each with
//             a 0 byte. A second call into the same memory means that the program has ended well
//             and flushed its output: the process ends without taking its memory apart.
//   open()    In a zygote: for the path of the program, which does not exist yet, opens a
//             placeholder, a file of one byte. `warm.program` replaces it by the real program.
//
// After that all three are the C library's again, except for the second read(62), and the program
// starts. A run that the interpreter cannot take over replaces the interpreter by its program, as
// in a cold start. Until then only one thread uses the library; the interpreter may have others.
// The library's code must work in any process, so it uses nothing but the C library.
// Each of these facilities has a header: fork.h, entry.h, arguments.h, pages.h, shadows.h and
// python.h. This header has what library.cc, which interposes the three functions, offers to them.
#pragma once

#include <string>

#include "jail/init/last_word.h"
#include "jail/init/protocol.h"

namespace polybox::warm {

namespace init = jail::init;

/// In a zygote: serves requests for guests. Returns in each guest, a process of its own that waits
/// for its run; never returns in the zygote.
void BecomeGuest();
/// Waits for the run and does everything up to the first instruction of its program. Returns in an
/// interpreter that can run the program; any other interpreter is replaced by the program. Call it
/// once.
const init::Run& TakeRun();
/// Returns whether the interpreter was started with the environment of the run. What the
/// interpreter derived from its environment then holds.
bool HasFirstEnvironment();
/// Returns the text that read(62) returns.
std::string TextOf(const init::Run& run);
/// Replaces the interpreter by the program, as in a cold start. For an interpreter that finds that
/// it cannot run the program after all. An interpreter that has taken no run yet exits; the server
/// learns of that as an end without a start.
[[noreturn]] void StartCold();

/// Returns the last word of this process. After LastWord::Say() the caller must end the process.
init::LastWord& LastWordOfProgram();

}  // namespace polybox::warm
