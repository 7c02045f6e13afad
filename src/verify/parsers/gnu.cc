// Compilers and checkers that write "file:line:column: severity: message": gcc, clang, clang-tidy,
// cppcheck with --template=gcc, javac, clang-format. Also CMake's errors, the linker's, and
// Maven's. The output of a build has many other lines, so they are skipped.
#include <string>
#include <unordered_set>

#include "verify/collect.h"
#include "verify/parsers/all.h"
#include "verify/parsers/compiler_lines.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "the text of a compiler";

/// Reads "CMake Error at CMakeLists.txt:3 (add_library):".
bool ReadCmakeLine(std::string_view line, RawFinding& finding) {
  const bool is_error = line.starts_with("CMake Error at ");
  if (!is_error && !line.starts_with("CMake Warning at ")) return false;
  TakeUntil(line, " at ");
  const auto place = TakeUntil(line, " (");
  const auto command = place ? TakeUntil(line, "):") : std::nullopt;
  const std::size_t colon = command ? place->rfind(':') : std::string_view::npos;
  if (colon == std::string_view::npos) return false;
  finding = {.file = place->substr(0, colon),
             .range = {.line = NumberOr0(place->substr(colon + 1))},
             .severity = is_error ? Severity::kError : Severity::kWarning,
             .rule = "cmake",
             .message = *command};
  return true;
}

/// Reads "a.c:(.text+0x5): undefined reference to `f'", of the linker.
bool ReadLinkerLine(std::string_view line, RawFinding& finding) {
  for (const std::string_view what : {"undefined reference to ", "multiple definition of "}) {
    const std::size_t at = line.find(what);
    if (at == std::string_view::npos) continue;
    const std::string_view before = line.substr(0, at);
    const std::size_t section = before.find(":(");
    if (section == std::string_view::npos) continue;
    const std::size_t begin = before.rfind(' ', section);
    finding = {.file = before.substr(begin + 1, section - begin - 1),
               .rule = "link",
               .message = line.substr(at)};
    return true;
  }
  return false;
}

class Lines {
 public:
  explicit Lines(std::string_view root) : findings_(root) {}

  void Read(std::string_view text) {
    std::string_view line;
    bool is_cmake = false;
    while (TakeLine(text, line)) {
      RawFinding finding;
      if (is_cmake && line.empty()) continue;
      if (is_cmake && line.starts_with("  ")) {
        findings_.Continue(line);
      } else if (is_cmake = ReadCmakeLine(line, finding); is_cmake) {
        findings_.Add(finding);
      } else if (ReadLinkerLine(line, finding)) {
        findings_.Add(finding);
      } else {
        ReadLine(line);
      }
    }
  }
  FindingReport Take() { return findings_.Take(); }

 private:
  void ReadLine(std::string_view line) {
    auto parts = ReadMavenLine(line);
    if (!parts) parts = ReadCompilerLine(line);
    if (!parts || parts->severity.empty()) return;
    // A note without a rule explains the finding before it.
    const bool explains = parts->severity == "note" && parts->rule.empty();
    if (explains && !findings_.empty()) return findings_.Continue(line);
    // A header is compiled, and complained about, once for each file that includes it.
    if (!seen_.emplace(line).second) return;
    findings_.Add({.file = parts->file,
                   .range = {.line = parts->line, .column = parts->column},
                   .severity = SeverityOf(parts->severity),
                   .rule = parts->rule,
                   .message = parts->message});
  }

  FindingCollector findings_;
  std::unordered_set<std::string_view> seen_;
};

}  // namespace

Report ParseGnu(const ParserInput& input) {
  if (!EndsInLine(input.out) || !EndsInLine(input.err)) {
    return Unreadable{NotThis(kWhat, "the output ends within a line").message()};
  }
  Lines lines(input.root);
  lines.Read(input.out);
  lines.Read(input.err);
  return lines.Take();
}

}  // namespace polybox::verify
