// Base64 with padding, for pictures in answers and for header fields. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace polybox::mcp {

std::string Base64(std::string_view bytes);

}  // namespace polybox::mcp
