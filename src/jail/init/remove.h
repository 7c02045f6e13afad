// Removes what guests left in a directory, whatever its depth, length, modes or names. Used by the
// server and the slot init: it depends on nothing but the C library.
#pragma once

namespace polybox::jail::init {

/// Opens the directory `name`, whose owner may have denied access, after setting its mode to 0700.
/// Returns -1 and sets errno on failure. Never follows a link.
int OpenClosed(int parent, const char* name);

/// Removes all content of the directory open at `directory` (borrowed), but not the directory
/// itself. Returns 0, or the errno of an entry that could not be removed. Follows no link. The mode
/// of the directory itself must allow writing.
int RemoveContents(int directory);

}  // namespace polybox::jail::init
