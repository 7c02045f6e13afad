// The data files of the tools, which are compiled in. Any thread.
#pragma once

#include <span>

#include "base/embedded_file.h"

namespace polybox::tools {

/// Returns file-types.toml and render-programs.toml, in this order.
std::span<const EmbeddedFile> DataFiles();

}  // namespace polybox::tools
