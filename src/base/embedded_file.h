// A file that was compiled into the binary (cmake/Embed.cmake).
#pragma once

#include <string_view>

namespace polybox {

struct EmbeddedFile {
  std::string_view name;
  std::string_view content;
};

}  // namespace polybox
