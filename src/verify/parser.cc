#include "verify/parser.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/overloaded.h"

namespace polybox::verify {

bool IsClean(const Report& report) {
  return std::visit(Overloaded{[](const Unreadable&) { return false; },
                               [](const TestReport& tests) {
                                 return tests.passed > 0 && tests.failed == 0 &&
                                        tests.errored == 0 && tests.failures.empty() &&
                                        tests.build_errors.empty();
                               },
                               [](const FindingReport& found) {
                                 return found.findings.empty() && found.omitted == 0;
                               },
                               [](const FormatReport& format) { return format.files.empty(); },
                               [](const CoverageReport&) { return false; }},
                    report);
}

const Parser* FindParser(std::string_view name) {
  const auto all = AllParsers();
  const auto found = std::ranges::find(all, name, &Parser::name);
  return found == all.end() ? nullptr : &*found;
}

Report ReadReport(const Parser& parser, const ParserInput& input) {
  Report report = parser.parse(input);
  if (!IsClean(report) || input.exit_code == 0) return report;
  if (!input.exit_code) {
    return Unreadable{"the tool was ended before it could exit, so its report may lack results"};
  }
  return Unreadable{
      fmt::format("the tool exited with {}, but its report shows nothing wrong", *input.exit_code)};
}

}  // namespace polybox::verify
