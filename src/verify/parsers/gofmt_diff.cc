// `gofmt -d`. Files that do not parse are on standard error, in the form of the compiler.
#include "verify/parsers/all.h"
#include "verify/parsers/compiler_lines.h"
#include "verify/text.h"

namespace polybox::verify {

Report ParseGofmtDiff(const ParserInput& input) {
  std::string_view err = input.err;
  FindingCollector findings(input.root);
  std::string_view line;
  while (TakeLine(err, line)) {
    const auto parts = ReadCompilerLine(line);
    if (!parts) continue;
    findings.Add({.file = parts->file,
                  .range = {.line = parts->line, .column = parts->column},
                  .rule = "syntax",
                  .message = parts->message});
  }
  // A file that cannot be parsed can be neither formatted nor not.
  if (!findings.empty()) return findings.Take();
  return ParseUnifiedDiff(input);
}

}  // namespace polybox::verify
