// For tools that tell the result by their exit code only. A failure has no findings to show, so the
// report is unreadable then.
#include <fmt/format.h>

#include "verify/parsers/all.h"

namespace polybox::verify {

Report ParseExitStatus(const ParserInput& input) {
  if (input.exit_code == 0) return FindingReport{};
  if (!input.exit_code) return Unreadable{"the tool was ended before it could exit"};
  return Unreadable{fmt::format(
      "the tool exited with {}; its output has no form that polybox reads", *input.exit_code)};
}

}  // namespace polybox::verify
