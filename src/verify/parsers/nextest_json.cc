// `cargo nextest run --message-format libtest-json`: an object per line, in the form of Rust's own
// test programs with `--format json`. A suite (a test program) starts and ends.
#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "verify/collect.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/compiler_lines.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "the JSON of Rust's tests";

class Events {
 public:
  explicit Events(const ParserInput& input) : input_(input), tests_(input.root, " ") {}

  Status Take(const json::Object& event) {
    const std::string_view type = TextIn(event, "type");
    const std::string_view what = TextIn(event, "event");
    if (type == "suite") return TakeSuite(what);
    if (type != "test") return type.empty() ? NotThis(kWhat, "an object without `type`") : Status();
    const auto [suite, name] = SplitName(TextIn(event, "name"));
    if (what == "ok") tests_.Passed(suite, name);
    if (what == "ignored") tests_.Skipped();
    if (what == "failed" || what == "timeout") Fail(event, suite, name);
    return {};
  }

  Result<TestReport> Finish() {
    if (open_ != 0) return NotThis(kWhat, "a test program has no end");
    if (!saw_suite_) {
      AddRustcErrors(input_.err, tests_);
      if (tests_.build_errors() == 0) return NotThis(kWhat, "it has no test program");
    }
    return tests_.Take();
  }

 private:
  Status TakeSuite(std::string_view what) {
    saw_suite_ = true;
    open_ += what == "started" ? 1 : -1;
    return open_ < 0 ? NotThis(kWhat, "a test program ends before it starts") : Status();
  }

  /// nextest puts the program before the name: "shop::shop$tests::adds".
  static std::pair<std::string_view, std::string_view> SplitName(std::string_view name) {
    const std::size_t at = name.find('$');
    if (at == std::string_view::npos) return {"", name};
    return {name.substr(0, at), name.substr(at + 1)};
  }

  void Fail(const json::Object& event, std::string_view suite, std::string_view name) {
    const std::string_view output = TextIn(event, "stdout");
    std::string_view message = output;
    std::string_view place;
    if (const std::size_t at = output.find(" panicked at "); at != std::string_view::npos) {
      place = output.substr(at + 13);
      place = place.substr(0, place.find('\n'));
      message = output.substr(std::min(output.size(), at + 13 + place.size() + 1));
      message = message.substr(0, message.find("\nstack backtrace:"));
    }
    std::string_view rest = place;
    const std::string_view file = TakeUntil(rest, ":").value_or("");
    tests_.Failed({.suite = suite,
                   .name = name,
                   .errored = TextIn(event, "event") == "timeout",
                   .file = file,
                   .line = NumberOr0(TakeUntil(rest, ":").value_or("")),
                   .message = output.empty() ? TextIn(event, "reason") : message,
                   .output = output});
  }

  const ParserInput& input_;
  TestCollector tests_;
  std::int64_t open_ = 0;
  bool saw_suite_ = false;
};

}  // namespace

Report ParseNextestJson(const ParserInput& input) {
  Events events(input);
  const Status read =
      ReadJsonLines(input.out, kWhat,
                    {.visit = [&](const json::Object& event) { return events.Take(event); },
                     .other = [](std::string_view) { return Status(); }});
  if (!read.ok()) return Unreadable{read.error().message()};
  return ToReport(events.Finish());
}

}  // namespace polybox::verify
