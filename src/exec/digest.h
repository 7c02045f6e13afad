// SHA-256, for names that say what is inside.
#pragma once

#include <string>
#include <string_view>

namespace polybox::exec {

/// 64 hexadecimal digits.
std::string Sha256(std::string_view bytes);

}  // namespace polybox::exec
