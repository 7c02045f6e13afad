#include "http/doors/run.h"

#include <algorithm>

#include "http/doors/door_table.h"
#include "http/doors/go_json/writer.h"
#include "http/doors/run_body.h"
#include "http/doors/run_result.h"
#include "http/measured_executor.h"
#include "http/run_note.h"

namespace polybox::http {
namespace {

std::string_view MediaType(const Request& request) {
  std::string_view type = request.Header("Content-Type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return type;
}

/// Parses the body by its media type: an empty body, JSON, or nothing for a type that is refused.
std::optional<RunBody> Bind(const Request& request, const RunBodyLimits& limits) {
  const bool chunked = !request.Header("Transfer-Encoding").empty();
  if (request.body.empty() && !chunked) return RunBody();
  const std::string_view type = MediaType(request);
  if (type == "application/json") return ReadRunBody(request.body, limits);
  // A form has no members that this API reads, so it counts as an empty body.
  if (type == "application/x-www-form-urlencoded" || type == "multipart/form-data") {
    return RunBody();
  }
  return std::nullopt;
}

class RunDoor : public std::enable_shared_from_this<RunDoor> {
 public:
  RunDoor(exec::Executor& executor, RunOptions options)
      : executor_(executor), options_(std::move(options)) {}

  Door Make() {
    auto self = shared_from_this();
    Door door;
    door.name = "run";
    // The server adds the Allow header. It lists OPTIONS first, because the routes do.
    const Handler methods = [](const auto& exchange) {
      exchange->Respond({.status = 204, .content_type = "", .body = "", .headers = {}});
    };
    const auto add_probe = [&](std::string path, Access access, const Handler& handler) {
      for (const std::string method : {"OPTIONS", "GET"}) {
        door.routes.push_back({.method = method,
                               .path = path,
                               .handler = method == "GET" ? handler : methods,
                               .access = method == "GET" ? access : Access::kClients,
                               .log_level = log::Level::kDebug});
      }
    };
    door.routes = {
        {"OPTIONS", "/v1/run", methods, 0},
        {"POST", "/v1/run", [self](const auto& exchange) { self->Run(exchange); },
         options_.limits.max_body_size},
    };
    add_probe("/healthz", Access::kPages, [](const auto& exchange) { exchange->Respond(Alive()); });
    if (options_.metrics) {
      add_probe("/metrics", Access::kClients,
                [self](const auto& exchange) { self->Metrics(*exchange); });
    }
    door.refuse = RunFault;
    door.fault_prefixes = {"/v1/"};
    door.facts = Facts();
    return door;
  }

 private:
  std::map<std::string, std::string> Facts() const {
    const RunBodyLimits& limits = options_.limits;
    return {{"languages", IdsAsJson(options_.languages)},
            {"max_body_size", std::to_string(limits.max_body_size)},
            {"max_files", std::to_string(limits.max_files)},
            {"max_file_size", std::to_string(limits.max_file_size)},
            {"max_stdin_size", std::to_string(limits.max_stdin_size)},
            {"output_limit", std::to_string(limits.output_limit)},
            {"run_timeout", JsonSeconds(limits.run_timeout)},
            {"compile_timeout", JsonSeconds(limits.compile_timeout)}};
  }

  static Response Alive() {
    Response response;
    response.body = "{\"status\":\"ok\"}\n";
    return response;
  }

  void Metrics(Exchange& exchange) const {
    Response response;
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = options_.metrics();
    exchange.Respond(std::move(response));
  }

  void Run(const std::shared_ptr<Exchange>& exchange) const {
    std::optional<RunBody> body = Bind(exchange->request(), options_.limits);
    if (!body) return exchange->Respond(RunError("INVALID_REQUEST_BODY"));
    if (body->mistyped) {
      return exchange->Respond(RunError("INVALID_REQUEST_BODY", body->warnings));
    }
    RunContext context{.warnings = std::move(body->warnings)};
    auto checked = CheckRunBody(std::move(body).value(), options_);
    if (const auto* complaint = std::get_if<RunComplaint>(&checked)) {
      return exchange->Respond(RunValidationError(*complaint, context.warnings));
    }
    auto request = std::get<exec::Request>(std::move(checked));
    Complete(request, exchange->request());
    const std::string language = exec::LanguageOf(request);
    context.compiled =
        std::ranges::find(options_.languages, language, &LanguageFacts::id)->compiled;
    exchange->Note({language, ""});
    const auto ticket = executor_.Submit(
        std::move(request), [exchange, context, language](const exec::Answer& answer) {
          exchange->Note(NoteOf(language, answer));
          const auto* report = std::get_if<exec::Report>(&answer);
          exchange->Respond(report != nullptr
                                ? RunResponse(*report, context)
                                : RunRefusal(std::get<exec::Refusal>(answer), context.warnings));
        });
    exchange->OnDisconnect([ticket] { ticket->Cancel(); });
  }

  /// Sets what the dialect determines for every run.
  void Complete(exec::Request& request, const Request& from) const {
    const RunBodyLimits& limits = options_.limits;
    request.client = from.client;
    request.lane = options_.lane;
    request.run.wall_time = request.run.cpu_time = limits.run_timeout;
    request.run.output = Bytes(limits.output_limit);
    request.output_rule = exec::OutputRule::kEndRun;
    request.wants_combined = true;
    request.one_cpu = true;
    request.run_memory_from = "the setting run-memory";
  }

  exec::Executor& executor_;
  const RunOptions options_;
};

exec::Lane LaneFor(const DoorSettings& settings) {
  exec::Lane lane = settings.run_lane;
  lane.name = "run";
  return lane;
}

Result<Door> Make(const DoorParts& parts) {
  RunOptions options;
  options.languages = parts.languages.available;
  options.limits = parts.settings.run_limits;
  options.lane = LaneNumber(kRunDoor);
  if (parts.settings.metrics) {
    options.metrics = [&metrics = parts.metrics] { return metrics.Render(); };
  }
  AddRunGauges(parts.metrics, parts.executor, options.lane, LaneFor(parts.settings));
  return MakeRunDoor(parts.executor, std::move(options));
}

}  // namespace

Door MakeRunDoor(exec::Executor& executor, RunOptions options) {
  return std::make_shared<RunDoor>(executor, std::move(options))->Make();
}

constinit const DoorRow kRunDoor = {.name = "run", .lane = LaneFor, .make = Make};

}  // namespace polybox::http
