#include "http/doors/run.h"

#include <algorithm>

#include "http/doors/run_body.h"
#include "http/doors/run_result.h"
#include "http/json_writer.h"

namespace polybox::http {
namespace {

std::string_view MediaType(const Request& request) {
  std::string_view type = request.Header("Content-Type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return type;
}

/// The body as it is bound: nothing at all, JSON, or (absent) of a type that is refused.
std::optional<RunBody> Bind(const Request& request, const RunLimits& limits) {
  const bool chunked = !request.Header("Transfer-Encoding").empty();
  if (request.body.empty() && !chunked) return RunBody();
  const std::string_view type = MediaType(request);
  if (type == "application/json") return ReadRunBody(request.body, limits);
  // A form has no member that could be bound.
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
    // The server adds the methods of the path; OPTIONS is named first.
    const Handler methods = [](const auto& exchange) {
      exchange->Respond({.status = 204, .content_type = "", .body = "", .headers = {}});
    };
    door.routes = {
        {"OPTIONS", "/v1/run", methods, 0},
        {"POST", "/v1/run", [self](const auto& exchange) { self->Run(exchange); },
         options_.limits.max_body_size},
        {"OPTIONS", "/healthz", methods, 0},
        {"GET", "/healthz", [](const auto& exchange) { exchange->Respond(Alive()); }, 0},
    };
    if (options_.metrics) {
      door.routes.push_back({"OPTIONS", "/metrics", methods, 0});
      door.routes.push_back(
          {"GET", "/metrics", [self](const auto& exchange) { self->Metrics(*exchange); }, 0});
    }
    door.refuse = [](Fault fault, const Request&) { return RunFault(fault); };
    door.fault_prefixes = {"/v1/"};
    door.facts = Facts();
    return door;
  }

 private:
  std::map<std::string, std::string> Facts() const {
    const RunLimits& limits = options_.limits;
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
    auto checked = CheckRunBody(std::move(body).value(), options_);
    if (const auto* complaint = std::get_if<RunComplaint>(&checked)) {
      return exchange->Respond(RunValidationError(*complaint));
    }
    auto request = std::get<exec::Request>(std::move(checked));
    Complete(request, exchange->request());
    const bool compiled =
        std::ranges::find(options_.languages, request.language, &LanguageFacts::id)->compiled;
    const auto ticket =
        executor_.Submit(std::move(request), [exchange, compiled](const exec::Answer& answer) {
          const auto* report = std::get_if<exec::Report>(&answer);
          exchange->Respond(report != nullptr ? RunResponse(*report, compiled)
                                              : RunRefusal(std::get<exec::Refusal>(answer)));
        });
    exchange->OnDisconnect([ticket] { ticket->Cancel(); });
  }

  /// What the dialect sets for every request.
  void Complete(exec::Request& request, const Request& from) const {
    const RunLimits& limits = options_.limits;
    request.client = from.client;
    request.lane = options_.lane;
    request.compile.wall_time = request.compile.cpu_time = limits.compile_timeout;
    request.run.wall_time = request.run.cpu_time = limits.run_timeout;
    request.compile.output = request.run.output = Bytes(limits.output_limit);
    request.output_rule = exec::OutputRule::kEndRun;
    request.wants_combined = true;
    request.one_cpu = true;
  }

  exec::Executor& executor_;
  const RunOptions options_;
};

}  // namespace

Door MakeRunDoor(exec::Executor& executor, RunOptions options) {
  return std::make_shared<RunDoor>(executor, std::move(options))->Make();
}

}  // namespace polybox::http
