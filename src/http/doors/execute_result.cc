#include "http/doors/execute_result.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/printable.h"
#include "http/base64.h"
#include "http/doors/go_json/writer.h"
#include "http/doors/retry_after.h"
#include "http/sites.h"
#include "jail/grade.h"
#include "jail/outcome.h"

namespace polybox::http {
namespace {

using jail::End;

/// Returns whole milliseconds, rounded down.
std::int64_t Milliseconds(Duration time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

/// The members of the old contract.
struct Head {
  bool success = false;
  std::string out = {};
  std::string err = {};
  int exit_code = -1;
  Duration run_time{};
};

/// Returns why a step was ended; "" when it ended by itself.
std::string WhyEnded(const jail::Outcome& outcome, const ResultContext& context, bool compiling) {
  switch (outcome.end) {
    case End::kTimedOut:
      return compiling ? "compilation timed out"
                       : fmt::format("execution timed out after {} seconds",
                                     JsonSeconds(context.timeout));
    case End::kCpuLimit:
      return "execution used up its processor time";
    case End::kProcessLimit:
      return "execution had too many processes";
    case End::kCancelled:
      return "execution was cancelled";
    case End::kSetupFailed:
      return "failed to start: " + outcome.setup_failure;
    default:
      return "";
  }
}

/// Returns the step that the result describes: the run, or the compiler that failed.
const exec::StepReport* Decisive(const exec::Report& report) {
  if (report.run) return &*report.run;
  return report.compile ? &*report.compile : nullptr;
}

/// Returns the old contract's members for a report. The exit code is -1 when the step did not exit
/// by itself.
Head HeadOf(const exec::Report& report, const ResultContext& context) {
  if (report.install_failure) {
    return {.err = "package installation failed: " + *report.install_failure};
  }
  const exec::StepReport* step = Decisive(report);
  if (step == nullptr) return {};
  const jail::Outcome& outcome = step->outcome;
  const bool exited = outcome.end == End::kExited;
  Head head{.success = report.run && exited && outcome.exit_code == 0,
            .out = step->out,
            .err = step->err,
            .exit_code = exited ? outcome.exit_code : -1};
  if (report.run) head.run_time = outcome.wall;
  if (head.err.empty()) head.err = WhyEnded(outcome, context, !report.run);
  return head;
}

/// Writes the output files sorted by path, with contents in base64.
void WriteProducedFiles(JsonWriter& json, const exec::Report& report) {
  if (report.artifacts.empty()) return;
  std::vector<const exec::Artifact*> files;
  for (const exec::Artifact& artifact : report.artifacts) files.push_back(&artifact);
  std::ranges::sort(files, {}, &exec::Artifact::path);
  json.Key("files_produced").BeginObject();
  for (const exec::Artifact* file : files) {
    json.Key(file->path).String(EncodeBase64(file->content));
  }
  json.EndObject();
}

/// Writes the members that clients of the old contract read, in its order.
void WriteHead(JsonWriter& json, const Head& head) {
  json.Key("status").String(head.success ? "success" : "error");
  json.Key("stdout").String(head.out).Key("stderr").String(head.err);
  json.Key("exit_code").Integer(head.exit_code);
  json.Key("execution_time_ms").Integer(Milliseconds(head.run_time));
}

/// Writes how the decisive step ended and what it used.
void WriteOutcome(JsonWriter& json, const exec::StepReport* step) {
  static const exec::StepReport kNothingRan;
  const exec::StepReport& shown = step == nullptr ? kNothingRan : *step;
  const jail::Outcome& outcome = shown.outcome;
  json.Key("timed_out").Bool(outcome.end == End::kTimedOut || outcome.end == End::kCpuLimit);
  json.Key("signal");
  if (outcome.signal == 0) {
    json.Null();
  } else {
    json.String(jail::SignalName(outcome.signal));
  }
  json.Key("oom_killed").Bool(outcome.end == End::kOutOfMemory || outcome.oom_kills > 0);
  json.Key("stdout_truncated").Bool(shown.out_truncated);
  json.Key("stderr_truncated").Bool(shown.err_truncated);
  json.Key("cpu_time_ms");
  if (outcome.cpu_user || outcome.cpu_system) {
    json.Integer(Milliseconds(outcome.cpu_user.value_or(Duration()) +
                              outcome.cpu_system.value_or(Duration())));
  } else {
    json.Null();
  }
  json.Key("memory_peak_bytes");
  if (outcome.memory_peak) {
    json.Integer(static_cast<std::int64_t>(outcome.memory_peak->count()));
  } else {
    json.Null();
  }
}

/// Writes a list of texts. An empty list is left out, because clients of the old contract know
/// answers without it.
void WriteNames(JsonWriter& json, std::string_view key, const std::vector<std::string>& names) {
  if (names.empty()) return;
  json.Key(key).BeginArray();
  for (const std::string& name : names) json.String(name);
  json.EndArray();
}

/// Returns the lowered limits of both steps. A sentence that applies to both appears once.
std::vector<std::string> LoweredLimits(const exec::Report& report) {
  std::vector<std::string> lowered;
  for (const auto* step : {&report.compile, &report.run}) {
    if (!*step) continue;
    for (const std::string& sentence : (*step)->outcome.limits_lowered) {
      if (std::ranges::count(lowered, sentence) == 0) lowered.push_back(sentence);
    }
  }
  return lowered;
}

/// Writes what the server did for the request: how long each part took, and under which conditions
/// the program ran.
void WriteService(JsonWriter& json, const exec::Report& report, const ResultContext& context) {
  json.Key("queue_ms").Integer(Milliseconds(report.queued));
  json.Key("install_time_ms").Integer(Milliseconds(report.install));
  json.Key("compile_time_ms");
  json.Integer(report.compile ? Milliseconds(report.compile->outcome.wall) : 0);
  json.Key("isolation").String(jail::GradeName(report.isolation));
  if (!context.language.empty()) json.Key("language").String(context.language);
  json.Key("timeout_seconds").Raw(JsonSeconds(context.timeout));
  WriteNames(json, "isolation_notes", report.isolation_notes);
  WriteNames(json, "limits_lowered", LoweredLimits(report));
}

/// Writes the optional remarks.
void WriteRemarks(JsonWriter& json, const exec::Report& report) {
  if (report.run && report.compile) {
    const std::string said = report.compile->out + report.compile->err;
    if (!said.empty()) json.Key("compile_output").String(said);
  }
  WriteNames(json, "requirements_ignored", report.requirements_ignored);
  WriteNames(json, "files_left_out", report.artifacts_left_out);
}

/// Returns the text with every line end replaced by LF, as Python reads text.
std::string WithUniversalNewlines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
    } else {
      out += '\n';
      if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
    }
  }
  return out;
}

/// Clients recognise a failed command by this text at the beginning of `stderr`.
constexpr std::string_view kCommandFailed = "Failed to execute command: ";

/// Returns why the runtime API counts a command as failed, although it may have run; "" when it
/// does not.
std::string CommandFailureOf(const exec::StepReport& step, const ResultContext& context,
                             const std::string& command) {
  switch (step.outcome.end) {
    case End::kTimedOut:
    case End::kCpuLimit:
      return fmt::format("Command '{}' timed out after {} seconds", command,
                         JsonSeconds(context.timeout));
    case End::kSetupFailed:
      return step.outcome.setup_failure;
    case End::kCancelled:
      return "it was cancelled";
    case End::kDiskLimit:
      return "No space left on device: " + step.ended_because;
    default:
      break;
  }
  if (ToUtf8(step.out) != step.out) return "its standard output is not UTF-8";
  if (ToUtf8(step.err) != step.err) return "its standard error is not UTF-8";
  return "";
}

/// Returns the members of the old contract for a command. A killed command has the negative signal
/// number as its exit code, as in Python.
Head CommandHead(const exec::StepReport& step, const std::string& failure) {
  const jail::Outcome& outcome = step.outcome;
  if (!failure.empty()) {
    return {.err = std::string(kCommandFailed) + failure, .exit_code = 1, .run_time = outcome.wall};
  }
  const bool exited = outcome.end == End::kExited;
  return {.success = exited && outcome.exit_code == 0,
          .out = WithUniversalNewlines(step.out),
          .err = WithUniversalNewlines(step.err),
          .exit_code = exited ? outcome.exit_code : -(outcome.signal == 0 ? 9 : outcome.signal),
          .run_time = outcome.wall};
}

/// Returns an answer that is no JSON, as Go's server gives it for unknown paths.
Response PlainText(int status, std::string body) {
  Response response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(body);
  return response;
}

}  // namespace

std::string ExecuteResult(const exec::Report& report, const ResultContext& context) {
  JsonWriter json;
  json.BeginObject();
  WriteHead(json, HeadOf(report, context));
  WriteProducedFiles(json, report);
  WriteOutcome(json, Decisive(report));
  WriteService(json, report, context);
  WriteRemarks(json, report);
  WriteNames(json, "warnings", context.warnings);
  json.EndObject();
  return std::move(json).Take();
}

std::string CommandResult(const exec::Report& report, const ResultContext& context,
                          const std::string& command) {
  static const exec::StepReport kNothingRan;
  const exec::StepReport& step = report.run ? *report.run : kNothingRan;
  const std::string failure = CommandFailureOf(step, context, command);
  JsonWriter json;
  json.BeginObject();
  WriteHead(json, CommandHead(step, failure));
  WriteOutcome(json, &step);
  WriteService(json, report, context);
  if (!failure.empty()) {
    json.Key("partial_stdout").String(step.out).Key("partial_stderr").String(step.err);
  }
  WriteNames(json, "warnings", context.warnings);
  json.EndObject();
  return std::move(json).Take();
}

std::string CommandFailure(const std::string& reason, const ResultContext& context,
                           jail::Grade isolation) {
  exec::Report report;
  report.isolation = isolation;
  report.run.emplace().outcome.end = End::kSetupFailed;
  report.run->outcome.setup_failure = reason;
  return CommandResult(report, context, "");
}

Response ExecuteError(int status, std::string_view message,
                      const std::vector<std::string>& warnings) {
  JsonWriter json;
  json.BeginObject().Key("error").String(message);
  WriteNames(json, "warnings", warnings);
  json.EndObject();
  Response response;
  response.status = status;
  response.body = std::move(json).Take() + "\n";
  return response;
}

Response ExecuteRefusal(const exec::Refusal& refusal, std::int64_t capacity,
                        const std::vector<std::string>& warnings) {
  using exec::RefusalKind;
  Response response;
  switch (refusal.kind) {
    case RefusalKind::kBusy:
    case RefusalKind::kQueueTimeout:
      response = ExecuteError(429,
                              fmt::format("at capacity ({}/{} concurrent executions)",
                                          std::max(refusal.load, capacity + 1), capacity),
                              warnings);
      break;
    case RefusalKind::kDraining:
      response = ExecuteError(503, "the server is shutting down", warnings);
      break;
    case RefusalKind::kCancelled:
      return ExecuteError(503, "execution was cancelled", warnings);
    case RefusalKind::kInvalid:
    case RefusalKind::kUnavailable:
      return ExecuteError(400, refusal.message, warnings);
    case RefusalKind::kFailed:
      return ExecuteError(500, refusal.message, warnings);
  }
  // Only a refusal for lack of capacity, or at the end of the server, is worth another attempt.
  response.headers = {{"Retry-After", RetryAfter(refusal)}};
  return response;
}

Response ExecuteFault(Fault fault, const Request& request) {
  switch (fault) {
    case Fault::kNotFound:
      return PlainText(404, "404 page not found\n");
    case Fault::kMethodNotAllowed:
      return PlainText(405, "Method Not Allowed\n");
    case Fault::kBodyTooLarge:
      return ExecuteError(413, "invalid request: http: request body too large");
    case Fault::kOverloaded:
      return ExecuteError(503, "too many requests are being read");
    case Fault::kUnauthorized:
      return ExecuteError(401, "a valid token is required");
    case Fault::kForeignHost:
    case Fault::kForeignOrigin:
      return ExecuteError(403, SiteComplaint(fault, request));
    case Fault::kDraining:
      return ExecuteError(503, "the server is shutting down");
    case Fault::kInternal:
      return ExecuteError(500, "internal server error");
  }
  return ExecuteError(500, "internal server error");
}

}  // namespace polybox::http
