// The text of `cargo test`. Standard output has the results of each test program; standard error
// names the programs, in the same order, and has the messages of the compiler.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "verify/collect.h"
#include "verify/parsers/all.h"
#include "verify/parsers/compiler_lines.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "the text of cargo test";

/// Returns the name of the program on a line of standard error, in the words of cargo's options:
/// "--lib", "--bin shop", "--test whole", "--doc"; "" for any other line.
std::string ProgramOf(std::string_view line) {
  line = Trim(line);
  if (line.starts_with("Doc-tests ")) return "--doc";
  if (!line.starts_with("Running ")) return "";
  line.remove_prefix(8);
  if (line.starts_with("unittests ")) line.remove_prefix(10);
  const std::string_view source = line.substr(0, line.find(' '));
  if (source.ends_with("src/lib.rs")) return "--lib";
  // "(target/debug/deps/whole-8deb4823557c6f33)" has the name of the target.
  const std::size_t end = line.rfind('-');
  const std::size_t begin = line.rfind('/', end);
  if (end == std::string_view::npos || begin == std::string_view::npos) return "";
  const std::string_view target = line.substr(begin + 1, end - begin - 1);
  const std::string_view kind = source.find("src/") != std::string_view::npos ? "bin"
                                : source.starts_with("examples/")             ? "example"
                                : source.starts_with("benches/")              ? "bench"
                                                                              : "test";
  return fmt::format("--{} {}", kind, target);
}

std::vector<std::string> ProgramsOf(std::string_view err) {
  std::vector<std::string> programs;
  std::string_view line;
  while (TakeLine(err, line)) {
    if (std::string program = ProgramOf(line); !program.empty()) {
      programs.push_back(std::move(program));
    }
  }
  return programs;
}

/// The results of one test program.
struct Program {
  std::string name;
  std::vector<std::string_view> failed;
  /// The captured output of each failed test, by name.
  std::unordered_map<std::string_view, std::string_view> outputs;
  std::int64_t announced = 0;
  std::int64_t passed = 0;
  std::int64_t ignored = 0;
};

class Results {
 public:
  Results(const ParserInput& input, TestCollector& tests)
      : rest_(input.out),
        programs_(ProgramsOf(input.err)),
        died_(input.err.find("process didn't exit successfully") != std::string_view::npos),
        tests_(tests) {}

  Status Read();
  /// Returns the number of test programs that wrote results.
  std::size_t count() const { return read_; }

 private:
  Status ReadProgram(std::string_view header);
  void TakeResult(std::string_view line, Program& program);
  void TakeOutput(std::string_view name, Program& program);
  Status Finish(const Program& program, std::string_view summary);

  std::string_view rest_;
  std::vector<std::string> programs_;
  /// Whether cargo says that a test program died.
  bool died_;
  TestCollector& tests_;
  std::size_t read_ = 0;
};

/// Returns the count before the word: 2 for " passed" in "FAILED. 2 passed; 4 failed; ...".
std::int64_t CountBefore(std::string_view summary, std::string_view word) {
  const std::size_t end = summary.find(word);
  if (end == std::string_view::npos) return -1;
  const std::size_t begin = summary.find_last_not_of("0123456789", end - 1) + 1;
  return Number(summary.substr(begin, end - begin)).value_or(-1);
}

bool IsHeader(std::string_view line) {
  return line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test"));
}

/// Takes "test name ... ok". What a test prints may stand between name and result.
void Results::TakeResult(std::string_view line, Program& program) {
  std::string_view rest = line.substr(5);
  auto name = TakeUntil(rest, " ... ");
  if (!name) return;
  for (const std::string_view note : {" - should panic", " - compile fail", " - compile"}) {
    if (name->ends_with(note)) name->remove_suffix(note.size());
  }
  if (rest.ends_with("FAILED")) {
    program.failed.push_back(*name);
  } else if (rest.starts_with("ignored")) {
    ++program.ignored;
  } else if (rest.ends_with("ok")) {
    ++program.passed;
    tests_.Passed(program.name, *name);
  }
}

/// Takes the output of a failed test, up to the line before the next one.
void Results::TakeOutput(std::string_view name, Program& program) {
  const std::string_view from = rest_;
  std::string_view line;
  while (true) {
    const std::string_view here = rest_;
    if (!TakeLine(rest_, line) || line.starts_with("---- ") || line == "failures:") {
      rest_ = here;
      break;
    }
  }
  program.outputs[name] = from.substr(0, from.size() - rest_.size());
}

/// Returns the lines from the one that says what went wrong, without the stack trace.
std::string_view MessageOf(std::string_view output) {
  const std::size_t panic = output.find(" panicked at ");
  if (panic == std::string_view::npos) return output;
  const std::size_t begin = output.find('\n', panic) + 1;
  return output.substr(begin, output.find("\nstack backtrace:", begin) - begin);
}

/// Returns "src/lib.rs:29:9" of "thread 'x' panicked at src/lib.rs:29:9:".
RawFailure FailureOf(const Program& program, std::string_view name) {
  const auto found = program.outputs.find(name);
  const std::string_view output =
      found != program.outputs.end() ? found->second : std::string_view();
  RawFailure failure{
      .suite = program.name, .name = name, .message = MessageOf(output), .output = output};
  const std::size_t panic = output.find(" panicked at ");
  if (panic == std::string_view::npos) return failure;
  std::string_view place = output.substr(panic + 13);
  place = place.substr(0, place.find('\n'));
  // Before Rust 1.73, the message stood before the place.
  if (place.starts_with('\'')) {
    const std::size_t quote = place.rfind("', ");
    failure.message = place.substr(0, quote);
    place = quote == std::string_view::npos ? place : place.substr(quote + 3);
  }
  failure.file = TakeUntil(place, ":").value_or("");
  failure.line = NumberOr0(TakeUntil(place, ":").value_or(""));
  return failure;
}

Status Results::Finish(const Program& program, std::string_view summary) {
  const auto failed = static_cast<std::int64_t>(program.failed.size());
  for (const std::string_view name : program.failed) tests_.Failed(FailureOf(program, name));
  tests_.Count(0, program.ignored);
  if (CountBefore(summary, " passed") != program.passed ||
      CountBefore(summary, " failed") != failed ||
      CountBefore(summary, " ignored") != program.ignored) {
    return NotThis(kWhat, fmt::format("the results of {} disagree with their summary \"{}\"",
                                      program.name, Kept(summary, 200)));
  }
  return {};
}

Status Results::ReadProgram(std::string_view header) {
  Program program;
  program.name = read_ < programs_.size() ? programs_[read_] : "";
  program.announced = CountBefore(header, " test");
  ++read_;
  std::string_view line;
  for (std::string_view here = rest_; TakeLine(rest_, line); here = rest_) {
    if (line.starts_with("test result: ")) return Finish(program, line.substr(13));
    if (line.starts_with("test ")) {
      TakeResult(line, program);
    } else if (line.starts_with("---- ") && line.ends_with(" ----")) {
      std::string_view name = line.substr(5, line.size() - 10);
      if (name.ends_with(" stdout")) name.remove_suffix(7);
      TakeOutput(name, program);
    } else if (IsHeader(line)) {
      rest_ = here;
      break;
    }
  }
  // The process died before it could write its summary (abort, exit, a signal), or the output was
  // cut. Cargo tells the first on standard error.
  if (!died_) return NotThis(kWhat, fmt::format("the results of {} have no end", program.name));
  for (const std::string_view name : program.failed) tests_.Failed(FailureOf(program, name));
  const std::string message =
      fmt::format("the test program ended before its {} tests did", program.announced);
  tests_.Failed({.suite = program.name, .errored = true, .message = message});
  return {};
}

Status Results::Read() {
  std::string_view line;
  while (TakeLine(rest_, line)) {
    if (IsHeader(line)) POLYBOX_RETURN_IF_ERROR(ReadProgram(line));
  }
  if (programs_.size() != read_ && !programs_.empty() && !died_) {
    return NotThis(kWhat, fmt::format("cargo started {} test programs, but {} wrote results",
                                      programs_.size(), read_));
  }
  return {};
}

Result<TestReport> ReadText(const ParserInput& input) {
  if (!EndsInLine(input.out)) return NotThis(kWhat, "the output ends within a line");
  TestCollector tests(input.root, " ");
  Results results(input, tests);
  POLYBOX_RETURN_IF_ERROR(results.Read());
  if (results.count() == 0) {
    AddRustcErrors(input.err, tests);
    if (tests.build_errors() == 0) return NotThis(kWhat, "no test program wrote results");
  }
  return tests.Take();
}

}  // namespace

Report ParseCargoTest(const ParserInput& input) {
  return ToReport(ReadText(input));
}

}  // namespace polybox::verify
