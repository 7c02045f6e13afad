// docs/settings.md, made from the table of settings. A test fails when the page is stale.
#pragma once

#include <string>

namespace polybox::config {

std::string ReferencePage();

}  // namespace polybox::config
