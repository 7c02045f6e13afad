// The placeholder for the program, which an interpreter reads before its program is known. Called
// on the one thread that uses the warm library (library.h).
#pragma once

namespace polybox::warm {

/// Returns a descriptor of the placeholder for the program.
int OpenPlaceholder();
/// Returns whether the program at `path` can be run by an interpreter that has read the
/// placeholder. It cannot if the program begins with a line that an interpreter must see first.
bool CanFollow(const char* path);

}  // namespace polybox::warm
