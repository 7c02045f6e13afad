#include "run_report.h"

#include <fmt/format.h>

#include "http/json_writer.h"

namespace polybox::cmd {
namespace {

using http::JsonWriter;

void WriteMilliseconds(JsonWriter& json, std::string_view key,
                       const std::optional<Duration>& time) {
  json.Key(key);
  if (!time) {
    json.Null();
    return;
  }
  json.Raw(fmt::format("{:.3f}", std::chrono::duration<double, std::milli>(*time).count()));
}

void WriteCount(JsonWriter& json, std::string_view key, const std::optional<std::int64_t>& count) {
  json.Key(key);
  count ? json.Integer(*count) : json.Null();
}

std::optional<std::int64_t> Count(const std::optional<Bytes>& bytes) {
  if (!bytes) return std::nullopt;
  return static_cast<std::int64_t>(bytes->count());
}

void WriteStep(JsonWriter& json, std::string_view key, const std::optional<StepReport>& step) {
  json.Key(key);
  if (!step) {
    json.Null();
    return;
  }
  const jail::Outcome& outcome = step->outcome;
  const bool exited = outcome.end == jail::End::kExited;
  json.BeginObject().Key("end").String(jail::EndName(outcome.end));
  WriteCount(json, "exit_code", exited ? std::optional(outcome.exit_code) : std::nullopt);
  json.Key("signal");
  outcome.signal == 0 ? json.Null() : json.String(jail::SignalName(outcome.signal));
  WriteMilliseconds(json, "wall_ms", outcome.wall);
  WriteMilliseconds(json, "cpu_user_ms", outcome.cpu_user);
  WriteMilliseconds(json, "cpu_system_ms", outcome.cpu_system);
  WriteCount(json, "memory_peak_bytes", Count(outcome.memory_peak));
  WriteCount(json, "processes_peak", outcome.processes_peak);
  json.Key("oom_kills").Integer(outcome.oom_kills);
  json.Key("warm").Bool(outcome.warm);
  json.Key("stdout").String(step->out).Key("stderr").String(step->err);
  if (step->cached) json.Key("cached").Bool(*step->cached);
  if (outcome.end == jail::End::kSetupFailed) {
    json.Key("setup_failure").String(outcome.setup_failure);
  }
  json.EndObject();
}

}  // namespace

std::string ReportJson(const RunReport& report) {
  JsonWriter json;
  json.BeginObject().Key("language").String(report.language);
  json.Key("isolation").String(jail::GradeName(report.grade));
  WriteStep(json, "compile", report.compile);
  WriteStep(json, "run", report.run);
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace polybox::cmd
