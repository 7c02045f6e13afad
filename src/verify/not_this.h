// The error that a text is not of the format that a parser reads. Any thread.
#pragma once

#include <string_view>

#include <fmt/format.h>

#include "base/result.h"

namespace polybox::verify {

/// Returns "not ruff's JSON: the output is empty".
inline Error NotThis(std::string_view what, std::string_view why) {
  return {ErrorKind::kInvalid, fmt::format("not {}: {}", what, why)};
}

}  // namespace polybox::verify
