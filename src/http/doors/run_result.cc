#include "http/doors/run_result.h"

#include <array>
#include <csignal>

#include "http/base64.h"
#include "http/doors/go_json/writer.h"
#include "http/doors/retry_after.h"
#include "http/sites.h"
#include "jail/grade.h"
#include "jail/outcome.h"

namespace polybox::http {
namespace {

using jail::End;

/// A kind of error: the code and the message are part of the contract, and clients compare both.
struct RunErrorRow {
  std::string_view code;
  int status;
  std::string_view message;
};

constexpr std::array<RunErrorRow, 10> kErrors = {{
    {"INVALID_REQUEST_BODY", 400, "invalid request body"},
    {"VALIDATION_ERROR", 400, "request validation failed"},
    {"UNAUTHORIZED", 401, "a valid token is required"},
    {"FORBIDDEN", 403, "the request is refused"},
    {"NOT_FOUND", 404, "the requested resource was not found"},
    {"METHOD_NOT_ALLOWED", 405, "the request method is not allowed for this resource"},
    {"REQUEST_BODY_TOO_LARGE", 413, "request body too large"},
    {"INTERNAL_ERROR", 500, "internal server error"},
    {"SERVER_BUSY", 503, "server is busy, please retry later"},
    {"TIMEOUT", 504, "execution timed out"},
}};

/// Returns the row of the code. A code that is in no row is a defect of ours, hence an internal
/// error.
const RunErrorRow& ErrorRow(std::string_view code) {
  for (const RunErrorRow& row : kErrors) {
    if (row.code == code) return row;
  }
  return ErrorRow("INTERNAL_ERROR");
}

/// The body ends with a line feed, as Go's encoder writes it.
Response JsonResponse(int status, JsonWriter json) {
  Response response;
  response.status = status;
  response.body = std::move(json).Take() + "\n";
  return response;
}

/// Writes the member only when there are warnings, because existing clients know answers without
/// it.
void WriteWarnings(JsonWriter& json, const std::vector<std::string>& warnings) {
  if (warnings.empty()) return;
  json.Key("warnings").BeginArray();
  for (const std::string& warning : warnings) json.String(warning);
  json.EndArray();
}

/// Returns an error with a message of its own. The status follows from the code.
Response RunErrorWith(std::string_view code, std::string_view message,
                      const std::vector<std::string>& warnings = {}) {
  JsonWriter json;
  json.BeginObject().Key("code").String(code).Key("message").String(message);
  WriteWarnings(json, warnings);
  json.EndObject();
  return JsonResponse(ErrorRow(code).status, std::move(json));
}

/// Returns one of the dialect's four words for the end of a step.
std::string_view StatusOf(End end) {
  switch (end) {
    case End::kExited:
    case End::kSetupFailed:
      return "OK";
    case End::kTimedOut:
      return "TIMEOUT";
    case End::kOutputLimit:
      return "OUTPUT_LIMIT_EXCEEDED";
    case End::kSignalled:
    case End::kCpuLimit:
    case End::kOutOfMemory:
    case End::kDiskLimit:
    case End::kProcessLimit:
    case End::kCancelled:
      return "SIGNAL";
  }
  return "SIGNAL";
}

/// A step in the terms of the dialect.
struct WireStep {
  std::string out = {};
  std::string err = {};
  std::string combined = {};
  int exit_code = 0;
  std::string_view status = "OK";
  int signal = 0;
  Duration wall{};
};

/// Returns a step as the dialect shows it: a killed step has the exit code 128 + signal, as in a
/// shell.
WireStep ToWire(const exec::StepReport& step) {
  const jail::Outcome& outcome = step.outcome;
  WireStep wire{step.out, step.err,    step.combined, outcome.exit_code, StatusOf(outcome.end),
                0,        outcome.wall};
  if (outcome.end == End::kOutputLimit) {
    // All captured output is dropped. The exit code is that of any killed program.
    return {.exit_code = 128 + SIGKILL, .status = wire.status, .wall = wire.wall};
  }
  if (outcome.end == End::kSetupFailed) {
    wire.exit_code = 255;
    wire.err = wire.combined = "failed to start: " + outcome.setup_failure + "\n";
  } else if (outcome.end != End::kExited) {
    wire.signal = outcome.signal == 0 ? SIGKILL : outcome.signal;
    wire.exit_code = 128 + wire.signal;
  }
  return wire;
}

void WriteStep(JsonWriter& json, const WireStep& step) {
  json.BeginObject().Key("stdout").String(EncodeBase64(step.out));
  json.Key("stderr").String(EncodeBase64(step.err));
  json.Key("output").String(EncodeBase64(step.combined));
  json.Key("exit_code").Integer(step.exit_code).Key("status").String(step.status);
  json.Key("signal");
  if (step.signal == 0) {
    json.Null();
  } else {
    json.String(jail::SignalName(step.signal));
  }
  json.Key("duration_ms");
  json.Integer(std::chrono::duration_cast<std::chrono::milliseconds>(step.wall).count());
  json.EndObject();
}

/// Returns whether a step was cancelled. The client has gone or the server is about to end, so
/// there is no result.
bool WasCancelled(const exec::Report& report) {
  const auto cancelled = [](const std::optional<exec::StepReport>& step) {
    return step && step->outcome.end == End::kCancelled;
  };
  return cancelled(report.compile) || cancelled(report.run);
}

}  // namespace

Response RunError(std::string_view code, const std::vector<std::string>& warnings) {
  return RunErrorWith(code, ErrorRow(code).message, warnings);
}

Response RunValidationError(const RunComplaint& complaint,
                            const std::vector<std::string>& warnings) {
  const RunErrorRow& row = ErrorRow("VALIDATION_ERROR");
  JsonWriter json;
  json.BeginObject().Key("code").String(row.code).Key("message").String(row.message);
  json.Key("errors").BeginArray().BeginObject().Key("path").BeginArray();
  for (const auto& part : complaint.path) {
    if (const auto* name = std::get_if<std::string>(&part)) {
      json.String(*name);
    } else {
      json.Integer(static_cast<std::int64_t>(std::get<std::size_t>(part)));
    }
  }
  json.EndArray().Key("message").String(complaint.message).EndObject().EndArray();
  WriteWarnings(json, warnings);
  json.EndObject();
  return JsonResponse(row.status, std::move(json));
}

Response RunFault(Fault fault, const Request& request) {
  switch (fault) {
    case Fault::kNotFound:
      return RunError("NOT_FOUND");
    case Fault::kMethodNotAllowed:
      return RunError("METHOD_NOT_ALLOWED");
    case Fault::kBodyTooLarge:
      return RunError("REQUEST_BODY_TOO_LARGE");
    case Fault::kOverloaded:
    case Fault::kDraining:
      return RunError("SERVER_BUSY");
    case Fault::kUnauthorized:
      return RunError("UNAUTHORIZED");
    case Fault::kForeignHost:
    case Fault::kForeignOrigin:
      return RunErrorWith("FORBIDDEN", SiteComplaint(fault, request));
    case Fault::kInternal:
      return RunError("INTERNAL_ERROR");
  }
  return RunError("INTERNAL_ERROR");
}

Response RunResponse(const exec::Report& report, const RunContext& context) {
  if (WasCancelled(report)) return RunError("INTERNAL_ERROR");
  JsonWriter json;
  json.BeginObject().Key("compile");
  if (report.compile) {
    WriteStep(json, ToWire(*report.compile));
  } else if (context.compiled) {
    WriteStep(json, {});  // an empty result: there was nothing to compile
  } else {
    json.Null();
  }
  json.Key("run");
  if (report.run) {
    WriteStep(json, ToWire(*report.run));
  } else {
    json.Null();
  }
  WriteWarnings(json, context.warnings);
  json.EndObject();
  Response response = JsonResponse(200, std::move(json));
  response.headers = {{"X-Polybox-Isolation", std::string(jail::GradeName(report.isolation))}};
  return response;
}

Response RunRefusal(const exec::Refusal& refusal, const std::vector<std::string>& warnings) {
  using exec::RefusalKind;
  switch (refusal.kind) {
    case RefusalKind::kBusy:
    case RefusalKind::kQueueTimeout:
    case RefusalKind::kDraining: {
      Response response = RunError("SERVER_BUSY", warnings);
      response.headers = {{"Retry-After", RetryAfter(refusal)}};
      return response;
    }
    case RefusalKind::kInvalid:
      return RunValidationError({{"files"}, refusal.message}, warnings);
    case RefusalKind::kUnavailable:
      return RunValidationError({{"runtime"}, refusal.message}, warnings);
    case RefusalKind::kCancelled:
    case RefusalKind::kFailed:
      return RunError("INTERNAL_ERROR", warnings);
  }
  return RunError("INTERNAL_ERROR", warnings);
}

}  // namespace polybox::http
