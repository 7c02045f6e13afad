#include "http/doors/run_result.h"

#include <array>
#include <csignal>

#include "http/base64.h"
#include "http/doors/retry_after.h"
#include "http/json_writer.h"
#include "jail/grade.h"
#include "jail/outcome.h"

namespace polybox::http {
namespace {

using jail::End;

struct RunErrorRow {
  std::string_view code;
  int status;
  std::string_view message;
};

constexpr std::array<RunErrorRow, 9> kErrors = {{
    {"INVALID_REQUEST_BODY", 400, "invalid request body"},
    {"VALIDATION_ERROR", 400, "request validation failed"},
    {"UNAUTHORIZED", 401, "a valid token is required"},
    {"NOT_FOUND", 404, "the requested resource was not found"},
    {"METHOD_NOT_ALLOWED", 405, "the request method is not allowed for this resource"},
    {"REQUEST_BODY_TOO_LARGE", 413, "request body too large"},
    {"INTERNAL_ERROR", 500, "internal server error"},
    {"SERVER_BUSY", 503, "server is busy, please retry later"},
    {"TIMEOUT", 504, "execution timed out"},
}};

const RunErrorRow& ErrorRow(std::string_view code) {
  for (const RunErrorRow& row : kErrors) {
    if (row.code == code) return row;
  }
  return kErrors[6];
}

Response JsonResponse(int status, JsonWriter json) {
  Response response;
  response.status = status;
  response.body = std::move(json).Take() + "\n";
  return response;
}

/// The closed set of four that the dialect has for an end.
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
    case End::kCancelled:
      return "SIGNAL";
  }
  return "SIGNAL";
}

struct WireStep {
  std::string out = {};
  std::string err = {};
  std::string combined = {};
  int exit_code = 0;
  std::string_view status = "OK";
  int signal = 0;
  Duration wall{};
};

WireStep ToWire(const exec::StepReport& step) {
  const jail::Outcome& outcome = step.outcome;
  WireStep wire{step.out, step.err,    step.combined, outcome.exit_code, StatusOf(outcome.end),
                0,        outcome.wall};
  if (outcome.end == End::kOutputLimit) {
    // All that was captured is thrown away; the code is that of every kill.
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

/// Whoever runs it is gone or about to go: there is no result to speak of.
bool WasCancelled(const exec::Report& report) {
  const auto cancelled = [](const std::optional<exec::StepReport>& step) {
    return step && step->outcome.end == End::kCancelled;
  };
  return cancelled(report.compile) || cancelled(report.run);
}

}  // namespace

Response RunError(std::string_view code) {
  const RunErrorRow& row = ErrorRow(code);
  JsonWriter json;
  json.BeginObject().Key("code").String(row.code).Key("message").String(row.message).EndObject();
  return JsonResponse(row.status, std::move(json));
}

Response RunValidationError(const RunComplaint& complaint) {
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
  json.EndArray().Key("message").String(complaint.message).EndObject().EndArray().EndObject();
  return JsonResponse(row.status, std::move(json));
}

Response RunFault(Fault fault) {
  switch (fault) {
    case Fault::kNotFound:
      return RunError("NOT_FOUND");
    case Fault::kMethodNotAllowed:
      return RunError("METHOD_NOT_ALLOWED");
    case Fault::kBodyTooLarge:
      return RunError("REQUEST_BODY_TOO_LARGE");
    case Fault::kOverloaded:
      return RunError("SERVER_BUSY");
    case Fault::kUnauthorized:
      return RunError("UNAUTHORIZED");
    case Fault::kInternal:
      return RunError("INTERNAL_ERROR");
  }
  return RunError("INTERNAL_ERROR");
}

Response RunResponse(const exec::Report& report, bool compiled) {
  if (WasCancelled(report)) return RunError("INTERNAL_ERROR");
  JsonWriter json;
  json.BeginObject().Key("compile");
  if (report.compile) {
    WriteStep(json, ToWire(*report.compile));
  } else if (compiled) {
    WriteStep(json, {});  // nothing had to be done
  } else {
    json.Null();
  }
  json.Key("run");
  if (report.run) {
    WriteStep(json, ToWire(*report.run));
  } else {
    json.Null();
  }
  json.EndObject();
  Response response = JsonResponse(200, std::move(json));
  response.headers = {{"X-Polybox-Isolation", std::string(jail::GradeName(report.isolation))}};
  return response;
}

Response RunRefusal(const exec::Refusal& refusal) {
  using exec::RefusalKind;
  switch (refusal.kind) {
    case RefusalKind::kBusy:
    case RefusalKind::kQueueTimeout:
    case RefusalKind::kDraining: {
      Response response = RunError("SERVER_BUSY");
      response.headers = {{"Retry-After", RetryAfter(refusal)}};
      return response;
    }
    case RefusalKind::kInvalid:
      return RunValidationError({{"files"}, refusal.message});
    case RefusalKind::kUnavailable:
      return RunValidationError({{"runtime"}, refusal.message});
    case RefusalKind::kCancelled:
    case RefusalKind::kFailed:
      return RunError("INTERNAL_ERROR");
  }
  return RunError("INTERNAL_ERROR");
}

}  // namespace polybox::http
