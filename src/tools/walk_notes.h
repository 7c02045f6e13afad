// The words about what a walk through a workspace could not see. Any thread.
#pragma once

#include <string>
#include <vector>

#include "workspace/file_walk.h"

namespace polybox::tools {

/// Adds a sentence for an early end, and one for directories that could not be read.
void NoteWalk(const workspace::FileWalkReport& report, std::vector<std::string>& notes);

/// Returns a path for a line of an answer: control characters are escaped, so that a file's name
/// cannot forge a line. Bytes that are not UTF-8 become U+FFFD.
std::string ShownPath(std::string_view path);

/// Returns the notes for the end of a text, each on a line of its own.
std::string NoteLines(const std::vector<std::string>& notes);

}  // namespace polybox::tools
