// The slot init (a static executable) and the warm library (a shared library), which the build
// embeds into this binary. Any thread may call these functions.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace polybox::jail {

/// Returns the bytes of the slot init's executable.
std::string_view InitImage();

/// Returns a new sealed memfd that holds the slot init, to be executed. Nobody can change the
/// content, and no file of the host is involved. One memfd can start any number of slots.
Result<UniqueFd> InitExecutable();

/// Returns a new sealed memfd that holds the warm library (warm/warm.h), to be copied into a slot.
Result<UniqueFd> WarmLibrary();

}  // namespace polybox::jail
