#include "http/run_note.h"

#include <variant>

#include "jail/outcome.h"

namespace polybox::http {

std::string_view RefusalName(exec::RefusalKind kind) {
  switch (kind) {
    case exec::RefusalKind::kBusy:
      return "busy";
    case exec::RefusalKind::kQueueTimeout:
      return "queue_timeout";
    case exec::RefusalKind::kDraining:
      return "draining";
    case exec::RefusalKind::kCancelled:
      return "cancelled";
    case exec::RefusalKind::kInvalid:
      return "invalid";
    case exec::RefusalKind::kUnavailable:
      return "unavailable";
    case exec::RefusalKind::kFailed:
      return "failed";
  }
  return "failed";
}

std::string OutcomeName(const exec::Report& report) {
  if (report.install_failure) return "install_failed";
  if (report.run) return std::string(jail::EndName(report.run->outcome.end));
  if (!report.compile) return "nothing";
  const jail::Outcome& outcome = report.compile->outcome;
  return outcome.end == jail::End::kExited ? "compile_failed"
                                           : "compile_" + std::string(jail::EndName(outcome.end));
}

RunNote NoteOf(std::string language, const exec::Answer& answer) {
  const auto* report = std::get_if<exec::Report>(&answer);
  if (report != nullptr && !report->fallback_language.empty()) language = report->fallback_language;
  return {std::move(language),
          report != nullptr ? OutcomeName(*report)
                            : std::string(RefusalName(std::get<exec::Refusal>(answer).kind))};
}

}  // namespace polybox::http
