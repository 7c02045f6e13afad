#include "complaint.h"

#include "command.h"
#include "json/write.h"

namespace polybox::cmd {
namespace {

/// Returns the kind of an error in the JSON form. The words are part of the interface.
std::string_view KindName(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return "usage";
    case ErrorKind::kNotFound:
      return "not_found";
    case ErrorKind::kUnavailable:
      return "unavailable";
    case ErrorKind::kSystem:
      return "system";
  }
  return "system";
}

}  // namespace

int ExitCodeOf(const Error& error) {
  return error.kind() == ErrorKind::kInvalid ? kUsage : kFailure;
}

int Complain(const Complaint& complaint, const Error& error) {
  const int code = complaint.exit_code.value_or(ExitCodeOf(error));
  if (complaint.text.empty()) {
    complaint.err.PrintLine("polybox: " + error.message());
    if (!error.fix().empty()) complaint.err.PrintLine("fix: " + error.fix());
  } else {
    complaint.err.PrintLine(complaint.text);
  }
  // The text is printed with --json too: it is on standard error, where programs that read JSON do
  // not look.
  if (!complaint.as_json) return code;
  json::Object shown = {{"kind", KindName(error.kind())}, {"message", json::Text(error.message())}};
  if (!error.fix().empty()) shown["fix"] = json::Text(error.fix());
  complaint.out.PrintLine(
      json::Write(json::Object{{"error", std::move(shown)}, {"exit_code", code}}));
  return code;
}

}  // namespace polybox::cmd
