// The language files of the repository, as compiled into the binary.
#pragma once

#include <span>

#include "base/embedded_file.h"

namespace polybox::languages {

std::span<const EmbeddedFile> BuiltinFiles();

}  // namespace polybox::languages
