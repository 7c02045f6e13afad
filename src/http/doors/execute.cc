#include "http/doors/execute.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/printable.h"
#include "http/doors/door_table.h"
#include "http/doors/event_stream.h"
#include "http/doors/execute_body.h"
#include "http/doors/execute_request.h"
#include "http/doors/execute_result.h"
#include "http/doors/go_json/writer.h"
#include "http/doors/limit_schemas.h"
#include "http/run_note.h"

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

/// Returns how long the sandbox router waits for this answer, if the request says so.
std::optional<Duration> Patience(const Request& request) {
  const std::string_view text = request.Header("X-Sandbox-Timeout");
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool number = error == std::errc() && end == text.data() + text.size();
  // A day. A larger value is ignored.
  if (!number || !std::isfinite(seconds) || seconds <= 0 || seconds > 86400) return std::nullopt;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

bool WantsEvents(const Request& request) {
  return request.Header("Accept").find("text/event-stream") != std::string_view::npos;
}

/// Returns FastAPI's answer to a member of the wrong type.
Response MistypedCommand(const std::string& input) {
  JsonWriter json;
  json.BeginObject().Key("detail").BeginArray().BeginObject();
  json.Key("type").String("string_type");
  json.Key("loc").BeginArray().String("body").String("command").EndArray();
  json.Key("msg").String("Input should be a valid string");
  // `input` is already JSON. A long value is left out, because it would not help anybody.
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
    const Handler list = [self](const auto& exchange) {
      Response response;
      response.body = self->options_.language_list;
      exchange->Respond(std::move(response));
    };
    Door door;
    door.name = "execute";
    door.routes = {
        {"POST", "/execute", [self](const auto& exchange) { self->Execute(exchange); },
         options_.largest_body},
        {"GET", "/languages", list, 0},
        {"HEAD", "/languages", list, 0},
    };
    for (const char* method : {"GET", "HEAD"}) {
      // No page of another site may read this, because it lists languages and their versions.
      door.routes.push_back({.method = method,
                             .path = "/health",
                             .handler = health,
                             .access = Access::kProbes,
                             .log_level = log::Level::kDebug});
    }
    door.refuse = ExecuteFault;
    door.facts = {{"mode", QuoteJson(options_.mode)},
                  {"languages", IdsAsJson(options_.languages)},
                  {"default_timeout", JsonSeconds(options_.default_timeout)},
                  {"largest_timeout", JsonSeconds(options_.largest_timeout)},
                  {"largest_body", std::to_string(options_.largest_body)},
                  {"most_items", std::to_string(kMostItems)}};
    door.facts.merge(LimitFacts());
    return door;
  }

 private:
  void Execute(const std::shared_ptr<Exchange>& exchange) const {
    auto body = ReadExecuteBody(exchange->request().body);
    if (!body.ok()) return exchange->Respond(ExecuteError(400, body.error().message()));
    if (!body->complaint.empty()) {
      return exchange->Respond(ExecuteError(400, body->complaint, body->warnings));
    }
    if (commands_ && (body->command || !body->mistyped_command.empty())) {
      return Command(exchange, *body);
    }
    if (!body->code || body->code->empty()) {
      return exchange->Respond(ExecuteError(400, "code is required", body->warnings));
    }
    const std::vector<std::string> warnings = body->warnings;
    auto order = OrderFor(std::move(body).value(), options_);
    if (!order.ok()) {
      return exchange->Respond(ExecuteError(400, order.error().message(), warnings));
    }
    order->warnings = warnings;
    order->request.client = exchange->request().client;
    order->request.patience = Patience(exchange->request());
    if (WantsEvents(exchange->request())) {
      Stream(exchange, std::move(order).value());
    } else {
      Answer(exchange, std::move(order).value());
    }
  }

  /// Passes a body with `command` to the Kubernetes runtime API.
  void Command(const std::shared_ptr<Exchange>& exchange, const ExecuteBody& body) const {
    if (body.code) {
      return exchange->Respond(
          ExecuteError(400, "code and command exclude each other", body.warnings));
    }
    if (!body.command) return exchange->Respond(MistypedCommand(body.mistyped_command));
    CommandCall call{*body.command, std::nullopt, body.warnings};
    if (body.timeout_seconds > 0) call.timeout = TimeoutFor(body.timeout_seconds, options_);
    commands_(exchange, call);
  }

  /// Returns the context with the language that the program actually ran as.
  static ResultContext For(const ResultContext& asked, const exec::Report& report) {
    ResultContext context = asked;
    if (!report.fallback_language.empty()) context.language = report.fallback_language;
    return context;
  }

  void Answer(const std::shared_ptr<Exchange>& exchange, ExecuteOrder order) const {
    const ResultContext context{order.language->id, order.timeout, std::move(order.warnings)};
    const std::int64_t capacity = options_.capacity;
    Submit(exchange, std::move(order.request),
           [exchange, context, capacity](const exec::Answer& answer) {
             const auto* report = std::get_if<exec::Report>(&answer);
             if (report == nullptr) {
               return exchange->Respond(
                   ExecuteRefusal(std::get<exec::Refusal>(answer), capacity, context.warnings));
             }
             Response response;
             response.body = ExecuteResult(*report, For(context, *report)) + "\n";
             exchange->Respond(std::move(response));
           });
  }

  /// Sends output as events while the program runs.
  void Stream(const std::shared_ptr<Exchange>& exchange, ExecuteOrder order) const {
    const ResultContext context{order.language->id, order.timeout, std::move(order.warnings)};
    const std::int64_t capacity = options_.capacity;
    const Bytes limit = order.request.run.output.value_or(order.language->run_limits.output);
    const auto stream = std::make_shared<EventStream>(exchange, limit.count());
    order.request.on_output = [stream](exec::StepKind step, exec::Stream which,
                                       std::string_view bytes) {
      stream->Output(step, which, bytes);
    };
    order.request.on_stage = [stream](exec::Stage stage) { stream->Progress(stage); };
    Submit(exchange, std::move(order.request),
           [stream, context, capacity](const exec::Answer& answer) {
             const auto* report = std::get_if<exec::Report>(&answer);
             if (report == nullptr) {
               return stream->Refuse(
                   ExecuteRefusal(std::get<exec::Refusal>(answer), capacity, context.warnings));
             }
             stream->Finish(ExecuteResult(*report, For(context, *report)));
           });
  }

  /// Submits the request. The callback holds the exchange, so the exchange lives until the engine's
  /// answer. The request is cancelled when the client goes away.
  void Submit(const std::shared_ptr<Exchange>& exchange, exec::Request request,
              exec::Executor::Done done) const {
    std::string language = exec::LanguageOf(request);
    exchange->Note({language, ""});
    const auto ticket = executor_.Submit(
        std::move(request),
        [exchange, language = std::move(language), done = std::move(done)](exec::Answer answer) {
          exchange->Note(NoteOf(language, answer));
          done(std::move(answer));
        });
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
  /// Not changed after construction, so handlers on any thread may read it.
  const ExecuteOptions options_;
  const CommandHandler commands_;
  const std::chrono::steady_clock::time_point started_;
};

Health HealthOf(const Readiness& readiness) {
  const Condition condition = readiness.Look();
  Health health;
  if (!condition.remarks.empty()) health.status = HealthStatus::kDegraded;
  if (!condition.obstacles.empty()) health.status = HealthStatus::kUnhealthy;
  health.reasons = condition.obstacles;
  health.reasons.insert(health.reasons.end(), condition.remarks.begin(), condition.remarks.end());
  return health;
}

exec::Lane LaneFor(const DoorSettings& settings) {
  exec::Lane lane = settings.usual_lane;
  lane.name = "execute";
  return lane;
}

}  // namespace

ExecuteOptions ExecuteOptionsFor(const DoorParts& parts) {
  ExecuteOptions options;
  options.languages = parts.languages.available;
  options.language_list = parts.languages.list;
  options.why_not = parts.languages.why_not;
  options.mode = parts.languages.mode;
  options.language = parts.languages.language;
  options.lane = LaneNumber(kExecuteDoor);
  options.capacity = LaneFor(parts.settings).concurrency;
  options.output_directory = parts.settings.output_directory;
  options.largest_timeout = parts.settings.largest_timeout;
  options.isolation = parts.isolation;
  options.health = [readiness = parts.readiness] { return HealthOf(*readiness); };
  return options;
}

Door MakeExecuteDoor(exec::Executor& executor, ExecuteOptions options, CommandHandler commands) {
  return std::make_shared<ExecuteDoor>(executor, std::move(options), std::move(commands))->Make();
}

constinit const DoorRow kExecuteDoor = {
    .name = "execute", .lane = LaneFor, .make = [](const DoorParts& parts) -> Result<Door> {
      return MakeExecuteDoor(parts.executor, ExecuteOptionsFor(parts), CommandsOf(parts));
    }};

}  // namespace polybox::http
