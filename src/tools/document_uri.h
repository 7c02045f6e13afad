// The URIs of documents, which come from clients. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace polybox::tools {

inline constexpr std::string_view kOutputUriBegin = "output:///";

/// A URI of stored output, taken apart.
struct OutputUri {
  std::string shell_id;
  std::string stream;
  std::uint64_t from = 0;
  /// At most so many bytes; nothing for as many as an answer holds.
  std::optional<std::uint64_t> bytes = {};
};

/// Returns nothing for a URI of another kind, and an error for one that cannot be read.
std::optional<Result<OutputUri>> ParseOutputUri(std::string_view uri);

/// Returns the path that a file URI names. Returns nothing for another URI, and an error for one
/// that cannot be read or names another host.
std::optional<Result<std::string>> PathOfFileUri(std::string_view uri);

}  // namespace polybox::tools
