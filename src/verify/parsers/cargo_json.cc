// `cargo clippy|check --message-format=json`: an object per line. The last one says that the build
// finished. Cargo reports a target once for each of its modes, so the same finding comes twice.
#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include "verify/collect.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "cargo's JSON";

/// Returns the span that the compiler underlines, or the first one; null if there is none.
const json::Object* PrimarySpan(const json::Object& message) {
  const json::Object* primary = nullptr;
  for (const json::Value& row : ItemsIn(message, "spans")) {
    const json::Object* span = row.if_object();
    if (span == nullptr) continue;
    if (TrueIn(*span, "is_primary")) return span;
    if (primary == nullptr) primary = span;
  }
  return primary;
}

/// Returns the help of the compiler: what to do, and the text to put in.
std::string FixOf(const json::Object& message) {
  for (const json::Value& row : ItemsIn(message, "children")) {
    const json::Object* child = row.if_object();
    if (child == nullptr || TextIn(*child, "level") != "help") continue;
    const json::Object* span = PrimarySpan(*child);
    const std::string_view text =
        span != nullptr ? TextIn(*span, "suggested_replacement") : std::string_view();
    if (span == nullptr) continue;  // a link to the manual
    return text.empty() ? std::string(TextIn(*child, "message"))
                        : fmt::format("{}: {}", TextIn(*child, "message"), text);
  }
  return "";
}

class Messages {
 public:
  explicit Messages(const ParserInput& input) : findings_(input.root) {}

  Status Take(const json::Object& row) {
    const std::string_view reason = TextIn(row, "reason");
    if (reason.empty()) return NotThis(kWhat, "an object without `reason`");
    if (reason == "build-finished") {
      finished_ = true;
      success_ = TrueIn(row, "success");
    }
    if (reason != "compiler-message") return {};
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* message, NeedObject(row, "message", kWhat));
    Add(*message);
    return {};
  }

  Result<FindingReport> Finish() {
    if (!finished_) return NotThis(kWhat, "cargo did not say that the build finished");
    if (!success_ && !has_error_) {
      return NotThis(kWhat, "the build failed, but the compiler reported no error");
    }
    return findings_.Take();
  }

 private:
  void Add(const json::Object& message) {
    const std::string_view level = TextIn(message, "level");
    const json::Object* span = PrimarySpan(message);
    // "2 warnings emitted" and "for more information, try ..." have no place and no code.
    const json::Object* code = ObjectIn(message, "code");
    const bool is_error = level.starts_with("error");
    if (level == "failure-note" || (span == nullptr && code == nullptr && !is_error)) return;
    const std::string_view text = TextIn(message, "message");
    const json::Object empty;
    const json::Object& at = span != nullptr ? *span : empty;
    const std::string key = fmt::format("{}:{}:{}:{}", TextIn(at, "file_name"),
                                        NumberIn(at, "byte_start"), level, text);
    has_error_ |= is_error;
    if (!seen_.insert(key).second) return;
    findings_.Add({.file = TextIn(at, "file_name"),
                   .range = {NumberIn(at, "line_start"), NumberIn(at, "column_start"),
                             NumberIn(at, "line_end"), NumberIn(at, "column_end")},
                   .severity = is_error ? Severity::kError : SeverityOf(level),
                   .rule = code != nullptr ? TextIn(*code, "code") : std::string_view(),
                   .message = text,
                   .fix = FixOf(message)});
  }

  FindingCollector findings_;
  std::unordered_set<std::string> seen_;
  bool finished_ = false;
  bool success_ = false;
  bool has_error_ = false;
};

Result<FindingReport> Read(const ParserInput& input) {
  Messages messages(input);
  POLYBOX_RETURN_IF_ERROR(
      ReadJsonLines(input.out, kWhat,
                    {.visit = [&](const json::Object& row) { return messages.Take(row); },
                     // What build scripts print.
                     .other = [](std::string_view) { return Status(); }}));
  return messages.Finish();
}

}  // namespace

Report ParseCargoJson(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
