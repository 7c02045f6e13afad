// Makes docs/languages.md from the language files. A test fails when the page in the repository is
// outdated.
#pragma once

#include <string>

#include "languages/registry.h"

namespace polybox::languages {

/// Returns the whole page.
std::string ReferencePage(const Registry& registry);

}  // namespace polybox::languages
