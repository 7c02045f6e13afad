// Recognises the kind of a file by its first bytes. Any thread.
#pragma once

#include <string_view>

namespace polybox::tools {

/// How many bytes at the start of a file decide whether it is binary, as for git and grep.
inline constexpr std::size_t kProbedBytes = 8192;

/// Returns the media type of a picture that models can look at; "" for all else.
std::string_view ImageType(std::string_view first_bytes);

/// Returns whether the first bytes are not those of a text.
bool IsBinary(std::string_view first_bytes);

}  // namespace polybox::tools
