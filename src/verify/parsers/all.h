// The parsers. Each has a file of its own; parsers/table.cc gives them their names.
#pragma once

#include "verify/parser.h"

namespace polybox::verify {

Report ParseExitStatus(const ParserInput& input);

}  // namespace polybox::verify
