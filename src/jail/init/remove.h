// Removing what guests left in a directory, however deep, long, closed or oddly named. Used by both
// sides: no dependency beyond the C library.
#pragma once

namespace polybox::jail::init {

/// Opens a directory that its owner may have closed, after opening it up; -1 and errno if that
/// fails. It never follows a link.
int OpenClosed(int parent, const char* name);

/// Everything in the directory open at `directory` (borrowed), not itself: 0 or the errno of what
/// stays. No link is followed. Its own mode must allow writing.
int RemoveContents(int directory);

}  // namespace polybox::jail::init
