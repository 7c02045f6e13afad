// Checks whether a disk has room left. Any thread may call this function.
#pragma once

#include <string>

#include "base/units.h"

namespace polybox::sys {

/// Returns what is wrong with the file system of `directory`, or "" when nothing is. The text is
/// "is full" when less than `least` is available to this process, "has no inodes left" or "cannot
/// be looked at". `directory` need not exist yet.
std::string WrongWithDisk(const std::string& directory, Bytes least);

}  // namespace polybox::sys
