// A selection of the built-in language files, for tests that load them together with languages of
// their own.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "languages/builtin.h"

namespace polybox::languages::testing {

/// Returns the files of these languages, and those with the default limits.
inline std::vector<EmbeddedFile> BuiltinFilesOf(std::initializer_list<std::string_view> ids = {}) {
  std::vector<EmbeddedFile> files;
  for (const EmbeddedFile& file : BuiltinFiles()) {
    const std::string_view stem = file.name.substr(0, file.name.find_first_of("./"));
    if (stem == "defaults" || std::ranges::find(ids, stem) != ids.end()) files.push_back(file);
  }
  return files;
}

}  // namespace polybox::languages::testing
