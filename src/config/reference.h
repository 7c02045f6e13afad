// Generates docs/settings.md from the table of settings. A test fails when the file in the
// repository differs.
#pragma once

#include <string>

namespace polybox::config {

std::string ReferencePage();

}  // namespace polybox::config
