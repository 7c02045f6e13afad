// Runs a Python program without a frame of polybox below it. Called in a zygote, by the interposed
// fork() (library.h).
#pragma once

#include <sys/types.h>

namespace polybox::warm {

/// In a zygote: if the interpreter is Python, offers it `sys._polybox_run`, which then does all the
/// rest. Returns the placeholder PID for the interposed fork() to return, or 0 if the interpreter
/// is not Python.
pid_t OfferToPython();

}  // namespace polybox::warm
