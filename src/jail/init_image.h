// The slot init, as compiled into this binary: a static executable of its own.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace polybox::jail {

std::string_view InitImage();

/// A sealed memfd that holds it, to execute from: nobody can change it, and no file of the host is
/// involved. One serves all slots.
Result<UniqueFd> InitExecutable();

}  // namespace polybox::jail
