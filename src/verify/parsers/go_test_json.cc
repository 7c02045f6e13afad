// The events of `go test -json`: one JSON object per line. The events of several packages may be
// mixed. Each package that starts ends with an event that has no test, so a stream in which a
// package has no end was cut.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "verify/collect.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/compiler_lines.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "the JSON of go test";

struct Test {
  std::string output;
  /// Whether subtests ran. The test is then not counted itself.
  bool has_subtests = false;
  bool subtest_failed = false;
};

struct Package {
  std::string output;
  /// By name: "TestA/sub".
  std::unordered_map<std::string, Test> running;
  bool test_failed = false;
  bool ended = false;
};

class Events {
 public:
  explicit Events(const ParserInput& input) : input_(input), tests_(input.root, ".") {}

  Status Take(const json::Object& event);
  Result<TestReport> Finish();

 private:
  void TakeOutput(Package& package, std::string_view test, std::string_view output);
  void EndTest(std::string_view name, std::string_view test, std::string_view action);
  void EndPackage(std::string_view name, const json::Object& event);
  void Fail(std::string_view package, std::string_view test, std::string_view output);
  /// Marks the parents of a subtest that ended.
  static void TellParent(Package& package, std::string_view test, bool failed);

  const ParserInput& input_;
  TestCollector tests_;
  std::unordered_map<std::string, Package> packages_;
  std::string build_output_;
  bool build_failed_ = false;
};

/// Appends to the output of a test. Its beginning is kept: a panic is followed by the stacks of all
/// goroutines.
void Append(std::string& output, std::string_view text) {
  if (output.size() < kLongestOutput) output += text;
}

/// Returns the output without the lines of the runner itself.
std::string WithoutFrames(std::string_view output) {
  std::string kept;
  std::string_view line;
  while (TakeLine(output, line)) {
    const std::string_view trimmed = Trim(line);
    if (trimmed.starts_with("=== ") || trimmed.starts_with("--- ") || trimmed == "FAIL") continue;
    kept += line;
    kept += '\n';
  }
  return kept;
}

/// Returns whether the test was ended by a panic, a fatal error of the runtime, or the time limit.
bool HasPanic(std::string_view output) {
  return output.starts_with("panic: ") || output.find("\npanic: ") != std::string_view::npos ||
         output.starts_with("fatal error: ") ||
         output.find("\nfatal error: ") != std::string_view::npos;
}

/// Returns the file of "cart_test.go:17" relative to the root: t.Error writes only its last part.
std::string FileIn(std::string_view package, std::string_view place, std::string_view module) {
  const std::string_view file = place.substr(0, place.rfind(':'));
  const std::string_view folder = WithinModule(package, module);
  const bool is_known = !module.empty() && folder != package && file.find('/') == file.npos;
  if (!is_known || folder.empty()) return std::string(file);
  return fmt::format("{}/{}", folder, file);
}

/// What t.Error and t.Log write: "    cart_test.go:17: message", and the lines after it.
struct LogLine {
  std::string_view place;
  std::string_view message;
};

/// Returns the last such line: t.Log often says something before t.Error does.
std::optional<LogLine> LastLogLine(std::string_view output) {
  std::optional<LogLine> last;
  std::string_view line;
  while (true) {
    const std::string_view here = output;
    if (!TakeLine(output, line)) return last;
    constexpr std::string_view kIndent = "    ";
    if (!line.starts_with(kIndent) || line.starts_with("     ")) continue;
    std::string_view rest = line.substr(kIndent.size());
    const std::size_t end = rest.find(": ");
    if (end == std::string_view::npos) continue;
    const auto parts = ReadCompilerLine(rest);
    if (!parts || !parts->file.ends_with(".go")) continue;
    last = {rest.substr(0, end), here.substr(kIndent.size() + end + 2)};
  }
}

void Events::Fail(std::string_view package, std::string_view test, std::string_view output) {
  const std::string text = WithoutFrames(output);
  const bool panicked = HasPanic(text);
  // A panic names many places of the runtime before the one of the test.
  const auto log = panicked ? std::nullopt : LastLogLine(text);
  const std::string_view all = text;
  const std::string_view message =
      panicked ? all.substr(0, all.find("\n\n")) : (log ? log->message : all);
  const std::string file = log ? FileIn(package, log->place, input_.module) : "";
  tests_.Failed({.suite = package,
                 .name = test,
                 .errored = panicked || test.empty(),
                 .file = file,
                 .line = log ? NumberOr0(log->place.substr(log->place.rfind(':') + 1)) : 0,
                 .message = message,
                 .output = text});
}

void Events::TellParent(Package& package, std::string_view test, bool failed) {
  // The name of a subtest may contain slashes too, so every prefix is tried.
  for (std::size_t slash = test.rfind('/'); slash != std::string_view::npos && slash > 0;
       slash = test.rfind('/', slash - 1)) {
    const auto parent = package.running.find(std::string(test.substr(0, slash)));
    if (parent == package.running.end()) continue;
    parent->second.has_subtests = true;
    parent->second.subtest_failed |= failed;
    return;
  }
}

void Events::EndTest(std::string_view name, std::string_view test, std::string_view action) {
  Package& package = packages_[std::string(name)];
  const auto found = package.running.find(std::string(test));
  const Test ended = found == package.running.end() ? Test() : std::move(found->second);
  if (found != package.running.end()) package.running.erase(found);
  const bool failed = action == "fail";
  TellParent(package, test, failed);
  package.test_failed |= failed;
  if (failed && !ended.subtest_failed) Fail(name, test, ended.output);
  if (ended.has_subtests || failed) return;
  if (action == "skip") {
    tests_.Skipped();
  } else {
    tests_.Passed(name, test);
  }
}

void Events::EndPackage(std::string_view name, const json::Object& event) {
  Package& package = packages_[std::string(name)];
  package.ended = true;
  const bool failed = TextIn(event, "Action") == "fail";
  // A test without an end was running when its process died.
  for (const auto& [test, state] : package.running) {
    if (HasPanic(state.output)) {
      Fail(name, test, state.output);
      continue;
    }
    tests_.Failed({.suite = name,
                   .name = test,
                   .errored = true,
                   .message = "the test did not end",
                   .output = state.output});
  }
  const bool has_unfinished = !package.running.empty();
  package.running.clear();
  if (!failed) return;
  const bool not_built = event.contains("FailedBuild") ||
                         package.output.find("[build failed]") != std::string::npos ||
                         package.output.find("[setup failed]") != std::string::npos;
  build_failed_ |= not_built;
  if (!not_built && !package.test_failed && !has_unfinished) Fail(name, "", package.output);
  package.output.clear();
}

void Events::TakeOutput(Package& package, std::string_view test, std::string_view output) {
  if (test.empty()) return Append(package.output, output);
  const auto found = package.running.find(std::string(test));
  if (found != package.running.end()) Append(found->second.output, output);
}

Status Events::Take(const json::Object& event) {
  const std::string_view action = TextIn(event, "Action");
  if (action.empty()) return NotThis(kWhat, "an object without `Action`");
  if (action == "build-output") Append(build_output_, TextIn(event, "Output"));
  if (action == "build-fail") build_failed_ = true;
  const std::string_view name = TextIn(event, "Package");
  if (name.empty()) return {};
  const std::string_view test = TextIn(event, "Test");
  Package& package = packages_[std::string(name)];
  package.ended = false;
  const bool is_end = action == "pass" || action == "fail" || action == "skip";
  if (action == "run") package.running[std::string(test)];
  if (action == "output") TakeOutput(package, test, TextIn(event, "Output"));
  if (is_end && test.empty()) EndPackage(name, event);
  if (is_end && !test.empty()) EndTest(name, test, action);
  return {};
}

Result<TestReport> Events::Finish() {
  if (packages_.empty() && !build_failed_) return NotThis(kWhat, "it has no event of a package");
  const auto open =
      std::ranges::find_if(packages_, [](const auto& package) { return !package.second.ended; });
  if (open != packages_.end()) {
    return NotThis(kWhat, fmt::format("the package {} has no end", KeptName(open->first)));
  }
  if (build_failed_) {
    AddBuildErrors(build_output_, tests_);
    // Before Go 1.24, the compiler's words are on standard error.
    if (tests_.build_errors() == 0) AddBuildErrors(input_.err, tests_);
    if (tests_.build_errors() == 0) {
      tests_.BuildError(
          {.file = "", .message = build_output_.empty() ? "the build failed" : build_output_});
    }
  }
  return tests_.Take();
}

}  // namespace

Report ParseGoTestJson(const ParserInput& input) {
  Events events(input);
  const Status read =
      ReadJsonLines(input.out, kWhat,
                    {.visit = [&](const json::Object& event) { return events.Take(event); },
                     .other = [](std::string_view) { return Status(); }});
  if (!read.ok()) return Unreadable{read.error().message()};
  return ToReport(events.Finish());
}

}  // namespace polybox::verify
