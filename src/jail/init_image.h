// The slot init and the warm library, as compiled into this binary: a static executable and a
// shared library of their own.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace polybox::jail {

std::string_view InitImage();

/// A sealed memfd that holds it, to execute from: nobody can change it, and no file of the host is
/// involved. One serves all slots.
Result<UniqueFd> InitExecutable();

/// The same for the warm library (warm/warm.h), to copy from.
Result<UniqueFd> WarmLibrary();

}  // namespace polybox::jail
