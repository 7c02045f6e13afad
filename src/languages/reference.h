// docs/languages.md, made from the language files. A test fails when the page is stale.
#pragma once

#include <string>

#include "languages/registry.h"

namespace polybox::languages {

std::string ReferencePage(const Registry& registry);

}  // namespace polybox::languages
