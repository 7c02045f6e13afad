// Writes a file into a directory of the server when a guest or a client chose the path. No link is
// followed, and no file outside the directory is touched, whatever the path is. Blocks; any thread
// may call it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace polybox::sys {

enum class Existing {
  kKeep,     ///< An existing file makes the call fail with EEXIST.
  kReplace,  ///< An existing plain file is replaced atomically.
};

/// Writes `content` to `path` below `directory` (borrowed). Missing parent directories are made.
Status WriteBeneath(int directory, const std::string& path, std::string_view content,
                    Existing existing);

}  // namespace polybox::sys
