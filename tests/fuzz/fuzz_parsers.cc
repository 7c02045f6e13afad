// The outputs of verification tools, which a project's own code can forge. The first byte of the
// input chooses the parser, the second the exit code. The rest is standard output, standard error
// and the report file, with zero bytes between them.
#include <array>
#include <string>

#include "base/printable.h"
#include "fuzz/fuzz.h"
#include "json/write.h"
#include "verify/parser.h"
#include "verify/report_json.h"

namespace polybox::fuzz {
namespace {

const languages::Patterns& FuzzedPatterns() {
  static const languages::Patterns patterns = {
      .finding = {R"((?P<file>[^:]+):(?P<line>\d+): (?P<severity>\w+): (?P<message>.*))"},
      .failed = {R"(FAIL (?P<name>.*))"},
      .passed = {R"(PASS (?P<name>.*))"},
      .complete = {R"(END (?P<findings>\d+))"},
      .ignore = {"#.*"}};
  return patterns;
}

/// Returns the number of tests that a report calls failed.
std::int64_t FailedIn(const verify::TestReport& tests) {
  return tests.failed + tests.errored;
}

void CheckReport(const verify::Report& report, const verify::ParserInput& input) {
  if (const auto* unreadable = std::get_if<verify::Unreadable>(&report)) {
    Check(!unreadable->reason.empty(), "a report that is unreadable says why");
  }
  if (const auto* tests = std::get_if<verify::TestReport>(&report)) {
    Check(tests->passed >= 0 && tests->failed >= 0 && tests->errored >= 0 && tests->skipped >= 0,
          "no count is negative");
    Check(static_cast<std::int64_t>(tests->failures.size()) <= FailedIn(*tests),
          "each failure is counted");
  }
  Check(!verify::IsClean(report) || input.exit_code == 0,
        "a clean report comes with exit code 0 alone");
  const std::string json = json::Write(verify::ToJson(report));
  Check(ToUtf8(json) == json, "all texts are UTF-8", json);
  const std::size_t size = input.out.size() + input.err.size() + input.report.size();
  // A finding or a covered line is some members of JSON for a few bytes of input; a block of a Go
  // profile may name 100,000 lines.
  constexpr std::size_t kLargest = std::size_t{64} * 1024 * 1024;
  Check(json.size() <= kLargest + 1000 * size, "the report is bounded");
}

}  // namespace
}  // namespace polybox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace polybox;
  if (size < 2) return 0;
  const auto parsers = verify::AllParsers();
  const verify::Parser& parser = parsers[data[0] % parsers.size()];
  std::string_view rest = fuzz::ToText(data + 2, size - 2);
  std::array<std::string_view, 3> streams;
  for (std::string_view& stream : streams) {
    stream = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), stream.size() + 1));
  }
  const verify::ParserInput input = {.out = streams[0],
                                     .err = streams[1],
                                     .report = streams[2],
                                     .exit_code = data[1] % 3,
                                     .root = "/tmp/project",
                                     .module = "example.com/shop",
                                     .patterns = &fuzz::FuzzedPatterns()};
  fuzz::CheckReport(verify::ReadReport(parser, input), input);
  return 0;
}
