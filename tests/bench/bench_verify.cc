// bench_verify: how fast the parsers of verification tools read large outputs. Prints a line per
// format, and exits with 1 if one of them reads less than 50 MB/s.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include <fmt/format.h>

#include "verify/parser.h"

namespace polybox::verify {
namespace {

/// The promise of SPECIFICATION.md, in bytes per second.
constexpr double kPromised = 50e6;
/// A large output: ten thousands of tests or files.
constexpr std::size_t kSize = std::size_t{16} * 1024 * 1024;

/// An output of `size` bytes: a head, a body that is repeated with a number, and an end.
struct Large {
  const char* parser;
  std::string head;
  std::function<std::string(int)> body;
  std::string end;
};

std::string GoTest(int number) {
  const std::string test = fmt::format(
      R"("Time":"2026-01-01T00:00:00Z","Package":"example.com/m/p","Test":"TestNumber{}")", number);
  return fmt::format("{{{},\"Action\":\"run\"}}\n", test) +
         fmt::format("{{{},\"Action\":\"output\",\"Output\":\"=== RUN   TestNumber\\n\"}}\n",
                     test) +
         fmt::format("{{{},\"Action\":\"output\",\"Output\":\"    a line of the log\\n\"}}\n",
                     test) +
         fmt::format("{{{},\"Action\":\"pass\",\"Elapsed\":0.01}}\n", test);
}

std::string JunitCase(int number) {
  return fmt::format(
      "<testcase classname=\"tests.test_cart\" name=\"test_{}\" time=\"0.001\" "
      "file=\"tests/test_cart.py\" line=\"{}\"></testcase>",
      number, number);
}

std::string EslintFile(int number) {
  return fmt::format(
      R"({}{{"filePath":"/p/src/file{}.js","messages":[{{"ruleId":"semi","severity":2,)"
      R"("message":"Missing semicolon.","line":{},"column":10,"endLine":2,"endColumn":1}}],)"
      R"("errorCount":1,"source":"let a = 1\nlet b = 2\nlet c = 3\nlet d = 4\n"}})",
      number == 0 ? "" : ",", number, number);
}

std::string GccLines(int number) {
  return fmt::format(
      "[{}/99999] Building CXX object src/CMakeFiles/a.dir/file{}.cc.o\n"
      "src/file{}.cc:12:5: warning: unused variable 'x' [-Wunused-variable]\n"
      "   12 |   int x = 1;\n      |       ^\n",
      number, number, number);
}

std::string LcovRecord(int number) {
  std::string record = fmt::format("SF:src/file{}.c\n", number);
  for (int line = 1; line < 60; ++line) record += fmt::format("DA:{},{}\n", line, line % 3);
  return record + "end_of_record\n";
}

Large Outputs(std::size_t index) {
  const Large outputs[] = {
      {"go-test-json", "", GoTest,
       R"({"Package":"example.com/m/p","Action":"pass"})"
       "\n"},
      {"pytest-junit", "<testsuites><testsuite name='p'>", JunitCase, "</testsuite></testsuites>"},
      {"eslint-json", "[", EslintFile, "]"},
      {"gnu", "", GccLines, ""},
      {"lcov", "", LcovRecord, ""},
  };
  return outputs[index];
}

constexpr std::size_t kOutputs = 5;

/// Returns the bytes per second of the best of three runs.
double Speed(const Large& output) {
  std::string text = output.head;
  for (int number = 0; text.size() < kSize; ++number) text += output.body(number);
  text += output.end;
  double best = 0;
  for (int run = 0; run < 3; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const Report report =
        ReadReport(*FindParser(output.parser), {.out = text, .exit_code = 1, .root = "/p"});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (const auto* unreadable = std::get_if<Unreadable>(&report);
        unreadable != nullptr && !unreadable->reason.starts_with("the tool exited with")) {
      fmt::print("{}: {}\n", output.parser, unreadable->reason);
      return 0;
    }
    best = std::max(best, static_cast<double>(text.size()) / took.count());
  }
  return best;
}

}  // namespace
}  // namespace polybox::verify

int main() {
  using namespace polybox::verify;
  bool kept = true;
  for (std::size_t i = 0; i < kOutputs; ++i) {
    const Large output = Outputs(i);
    const double speed = Speed(output);
    kept = kept && speed >= kPromised;
    fmt::print("{:14} {:6.0f} MB/s\n", output.parser, speed / 1e6);
  }
  return kept ? 0 : 1;
}
