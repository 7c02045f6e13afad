// `prettier --list-different`: one file per line. Also `--check`, which writes "[warn] file" on
// standard error. A file that cannot be parsed is on standard error, and makes the list incomplete.
#include <string>

#include <fmt/format.h>

#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "prettier's list";

Result<FormatReport> Read(const ParserInput& input) {
  if (!EndsInLine(input.out) || !EndsInLine(input.err)) {
    return NotThis(kWhat, "the output ends within a line");
  }
  FormatReport report;
  std::string_view line;
  std::string_view rest = input.err;
  while (TakeLine(rest, line)) {
    if (line.starts_with("[error] ")) return NotThis(kWhat, Kept(line, 500));
    constexpr std::string_view kWarning = "[warn] ";
    if (!line.starts_with(kWarning) || line.find("Code style issues") != std::string_view::npos) {
      continue;
    }
    report.files.push_back({RelativePath(line.substr(kWarning.size()), input.root), ""});
  }
  rest = input.out;
  while (TakeLine(rest, line)) {
    if (line.empty() || line.starts_with("> ") || line == "Checking formatting..." ||
        line == "All matched files use Prettier code style!") {
      continue;
    }
    // A name that is not in the list's form is no name: "(node:1) Warning: ...".
    if (line.find(": ") != std::string_view::npos) {
      return NotThis(kWhat, fmt::format("the line \"{}\"", Kept(line, 200)));
    }
    report.files.push_back({RelativePath(line, input.root), ""});
  }
  return report;
}

}  // namespace

Report ParsePrettierList(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
