#include "http/doors/execute.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/printable.h"
#include "http/doors/event_stream.h"
#include "http/doors/execute_body.h"
#include "http/doors/execute_request.h"
#include "http/doors/execute_result.h"
#include "http/json_writer.h"

namespace polybox::http {
namespace {

std::string_view StatusName(HealthStatus status) {
  switch (status) {
    case HealthStatus::kHealthy:
      return "healthy";
    case HealthStatus::kDegraded:
      return "degraded";
    case HealthStatus::kUnhealthy:
      return "unhealthy";
  }
  return "unhealthy";
}

/// How long the sandbox router will wait for our answer, if it says so.
std::optional<Duration> Patience(const Request& request) {
  const std::string_view text = request.Header("X-Sandbox-Timeout");
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool number = error == std::errc() && end == text.data() + text.size();
  // A day: more is no hint.
  if (!number || !std::isfinite(seconds) || seconds <= 0 || seconds > 86400) return std::nullopt;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

bool WantsEvents(const Request& request) {
  return request.Header("Accept").find("text/event-stream") != std::string_view::npos;
}

/// What FastAPI says about a member of the wrong type.
Response MistypedCommand(const std::string& input) {
  JsonWriter json;
  json.BeginObject().Key("detail").BeginArray().BeginObject();
  json.Key("type").String("string_type");
  json.Key("loc").BeginArray().String("body").String("command").EndArray();
  json.Key("msg").String("Input should be a valid string");
  // It is JSON already; a long one is of no use to anybody.
  if (input.size() <= 1000) json.Key("input").Raw(ToUtf8(input));
  json.EndObject().EndArray().EndObject();
  Response response;
  response.status = 422;
  response.body = std::move(json).Take();
  return response;
}

class ExecuteDoor : public std::enable_shared_from_this<ExecuteDoor> {
 public:
  ExecuteDoor(exec::Executor& executor, ExecuteOptions options, CommandHandler commands)
      : executor_(executor),
        options_(std::move(options)),
        commands_(std::move(commands)),
        started_(options_.clock->Now()) {}

  Door Make() {
    auto self = shared_from_this();
    const Handler health = [self](const auto& exchange) { exchange->Respond(self->ShowHealth()); };
    Door door;
    door.name = "execute";
    door.routes = {
        {"POST", "/execute", [self](const auto& exchange) { self->Execute(exchange); },
         options_.largest_body},
        {"GET", "/health", health, 0},
        {"HEAD", "/health", health, 0},
    };
    door.refuse = [](Fault fault, const Request&) { return ExecuteFault(fault); };
    door.facts = {{"mode", QuoteJson(options_.mode)},
                  {"languages", IdsAsJson(options_.languages)},
                  {"default_timeout", JsonSeconds(options_.default_timeout)},
                  {"largest_timeout", JsonSeconds(options_.largest_timeout)},
                  {"largest_body", std::to_string(options_.largest_body)},
                  {"most_items", std::to_string(kMostItems)}};
    return door;
  }

 private:
  void Execute(const std::shared_ptr<Exchange>& exchange) const {
    auto body = ReadExecuteBody(exchange->request().body);
    if (!body.ok()) return exchange->Respond(ExecuteError(400, body.error().message()));
    if (commands_ && (body->command || !body->mistyped_command.empty())) {
      return Command(exchange, *body);
    }
    if (!body->code || body->code->empty()) {
      return exchange->Respond(ExecuteError(400, "code is required"));
    }
    auto order = OrderFor(std::move(body).value(), options_);
    if (!order.ok()) return exchange->Respond(ExecuteError(400, order.error().message()));
    order->request.client = exchange->request().client;
    order->request.patience = Patience(exchange->request());
    if (WantsEvents(exchange->request())) {
      Stream(exchange, std::move(order).value());
    } else {
      Answer(exchange, std::move(order).value());
    }
  }

  void Command(const std::shared_ptr<Exchange>& exchange, const ExecuteBody& body) const {
    if (body.code) {
      return exchange->Respond(ExecuteError(400, "code and command exclude each other"));
    }
    if (!body.command) return exchange->Respond(MistypedCommand(body.mistyped_command));
    CommandCall call{*body.command, std::nullopt};
    if (body.timeout_seconds > 0) call.timeout = TimeoutFor(body.timeout_seconds, options_);
    commands_(exchange, call);
  }

  void Answer(const std::shared_ptr<Exchange>& exchange, ExecuteOrder order) const {
    const ResultContext context{order.language->id, order.timeout};
    const std::int64_t capacity = options_.capacity;
    Submit(exchange, std::move(order.request),
           [exchange, context, capacity](const exec::Answer& answer) {
             const auto* report = std::get_if<exec::Report>(&answer);
             if (report == nullptr) {
               return exchange->Respond(ExecuteRefusal(std::get<exec::Refusal>(answer), capacity));
             }
             Response response;
             response.body = ExecuteResult(*report, context) + "\n";
             exchange->Respond(std::move(response));
           });
  }

  void Stream(const std::shared_ptr<Exchange>& exchange, ExecuteOrder order) const {
    const ResultContext context{order.language->id, order.timeout};
    const std::int64_t capacity = options_.capacity;
    const Bytes limit = order.request.run.output.value_or(order.language->run_limits.output);
    const auto stream = std::make_shared<EventStream>(exchange, limit.count());
    order.request.on_output = [stream](exec::StepKind step, exec::Stream which,
                                       std::string_view bytes) {
      stream->Output(step, which, bytes);
    };
    Submit(exchange, std::move(order.request),
           [stream, context, capacity](const exec::Answer& answer) {
             const auto* report = std::get_if<exec::Report>(&answer);
             if (report == nullptr) {
               return stream->Refuse(ExecuteRefusal(std::get<exec::Refusal>(answer), capacity));
             }
             stream->Finish(ExecuteResult(*report, context));
           });
  }

  void Submit(const std::shared_ptr<Exchange>& exchange, exec::Request request,
              exec::Executor::Done done) const {
    const auto ticket = executor_.Submit(std::move(request), std::move(done));
    exchange->OnDisconnect([ticket] { ticket->Cancel(); });
  }

  Response ShowHealth() const {
    const Health health = options_.health ? options_.health() : Health();
    const exec::LaneLoad load = executor_.Load(options_.lane);
    const LanguageFacts* language = FindLanguage(options_.languages, options_.language);
    JsonWriter json;
    json.BeginObject().Key("status").String(StatusName(health.status));
    json.Key("mode").String(options_.mode);
    json.Key("runtime_version").String(language == nullptr ? "unknown" : language->version);
    json.Key("capacity").Integer(options_.capacity);
    json.Key("current_load").Integer(load.running);
    json.Key("uptime_seconds");
    json.Integer(
        std::chrono::duration_cast<std::chrono::seconds>(options_.clock->Now() - started_).count());
    json.Key("queued").Integer(load.queued);
    json.Key("preinstalled_packages").BeginArray();
    if (language != nullptr) {
      for (const std::string& package : language->packages) json.String(package);
    }
    json.EndArray().Key("isolation").String(jail::GradeName(options_.isolation));
    json.Key("languages").BeginArray();
    for (const LanguageFacts& facts : options_.languages) json.String(facts.id);
    json.EndArray().Key("reasons").BeginArray();
    for (const std::string& reason : health.reasons) json.String(reason);
    json.EndArray().EndObject();
    Response response;
    response.status = health.status == HealthStatus::kUnhealthy ? 503 : 200;
    response.body = std::move(json).Take() + "\n";
    return response;
  }

  exec::Executor& executor_;
  const ExecuteOptions options_;
  const CommandHandler commands_;
  const std::chrono::steady_clock::time_point started_;
};

}  // namespace

Door MakeExecuteDoor(exec::Executor& executor, ExecuteOptions options, CommandHandler commands) {
  return std::make_shared<ExecuteDoor>(executor, std::move(options), std::move(commands))->Make();
}

}  // namespace polybox::http
