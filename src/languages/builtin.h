// The language files of the repository, which are compiled into the binary.
#pragma once

#include <span>

#include "base/embedded_file.h"

namespace polybox::languages {

/// Returns the files. They exist as long as the process; any thread.
std::span<const EmbeddedFile> BuiltinFiles();

}  // namespace polybox::languages
