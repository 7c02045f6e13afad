// The warm library: what an interpreter gets to know of polybox when it is started ahead of its
// program. It is brought in by LD_PRELOAD, hides every trace of that, and gives three C library
// functions another meaning until the program begins, so that any interpreter can be driven by a
// few lines in its own language (`warm.program` in a language file):
//
//   fork()    in a zygote: returns 0 in a process of its own for every pod that asks for one, which
//             is in the pod's namespaces and cgroups and has no rights; never returns in the
//             zygote. In Python it only offers a function that does that
//   read(62)  in such a process, or in one that was started in its pod: waits for the run, takes
//             streams, directory, limits, arguments, environment and filter; returns a text: the
//             number of arguments, the arguments, then the variables, each with a 0 byte; once
//             more, into the same memory: the program has ended well and said all it has to say, so
//             the process ends without taking itself apart
//   open()    in a zygote: of the program, which is not there yet, opens what stands for it, a file
//             of one byte; `warm.program` replaces it by the real one
//
// But for that last word, all are the C library's again after that and the program starts. A run
// that the interpreter cannot take over replaces it, as if it had never been there. Single-threaded
// until then but for threads that the interpreter may have. What it calls must work in any process:
// libc only.
//
//   library.cc    the three functions
//   fork.cc       how a guest gets into its pod
//   entry.cc      the program before it is there
//   arguments.cc  what /proc says about arguments and environment
//   pages.cc      how a zygote has its memory
//   shadows.cc    what a cold start would find in place of what is loaded already
//   python.cc     runs a Python program without a frame below it
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "jail/init/last_word.h"
#include "jail/init/protocol.h"

namespace polybox::jail::warm {

enum class State : std::uint8_t {
  kNone,     ///< The C library's functions are as ever.
  kZygote,   ///< fork() makes guests.
  kWaiting,  ///< read(62) waits for the run.
  kRunning,  ///< read(62) into the memory that the run went to ends the process.
};

// library.cc
/// In a zygote: returns in a process of its own for every pod, which waits for its run.
void BecomeGuest();
/// From the run's message to the first instruction of its program, for an interpreter that can go
/// on with it: one that cannot is replaced by the program. Once.
const init::Run& TakeRun();
/// Whether the interpreter has been started with that run's environment: what it knows of it holds.
inline bool has_first_environment = false;
/// What read(62) returns.
std::string TextOf(const init::Run& run);
/// For an interpreter that finds that it cannot take over a run after all: replaces it by the
/// program as a cold start has it. One that has taken no run yet ends, of which the server learns
/// as an end without a start.
[[noreturn]] void StartCold();

/// For those who know that nothing comes after them but the end of the process.
inline init::LastWord last_word;

// fork.cc
/// Forks a guest for each request on the zygote's socket; returns only in a guest, with the
/// descriptor by which it says that it has started.
int ServeForks(pid_t (*fork)());

// entry.cc
/// A descriptor of what stands for the program.
int OpenPlaceholder();
/// Whether the program at `path` can come after what stood for it. Not when there is something in
/// it that an interpreter must see first.
bool CanFollow(const char* path);

// arguments.cc
/// Takes note of where things are: `stat` is that of /proc.
void RememberMemory(int stat);
enum class Variables : std::uint8_t { kReplace, kStay };
/// The process has these from here on, in /proc and for itself, unless its own variables stay.
/// False when there is no room.
bool SetArguments(const std::vector<std::string>& argv, const std::vector<std::string>& env,
                  Variables variables);

// pages.cc
/// Of the memory that it has by now as much as is possible becomes large pages: a fork and the end
/// of what it made are paid for by the page. `maps` is that of /proc.
void UseLargePages(int maps);

// shadows.cc
/// Whether a module beside `program` comes before one of `loaded`: names, each between spaces. So
/// do packages in the user's home. True as well when that cannot be seen.
bool IsShadowed(const std::string& program, std::string_view loaded);

// python.cc
/// In a zygote: offers the interpreter `sys._polybox_run` if it is Python, which then does all the
/// rest. The number of a process that is not there; 0 if it is none.
pid_t OfferToPython();

}  // namespace polybox::jail::warm
