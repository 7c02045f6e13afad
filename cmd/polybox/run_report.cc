#include "run_report.h"

#include "json/write.h"

namespace polybox::cmd {
namespace {

/// Returns the time in milliseconds, exact to a microsecond; null if it is not known.
json::Value Milliseconds(const std::optional<Duration>& time) {
  if (!time) return nullptr;
  const auto us = std::chrono::round<std::chrono::microseconds>(*time);
  return std::chrono::duration<double, std::milli>(us).count();
}

json::Value OrNull(const std::optional<std::int64_t>& count) {
  return count ? json::Value(*count) : json::Value(nullptr);
}

json::Value OrNull(const std::optional<Bytes>& bytes) {
  return bytes ? json::Value(static_cast<std::int64_t>(bytes->count())) : json::Value(nullptr);
}

/// Adds the list only when it is not empty.
void AddTexts(json::Object& object, std::string_view key, const std::vector<std::string>& texts) {
  if (!texts.empty()) object[key] = json::Texts(texts);
}

/// Returns a step; null if there was none. `cached` says whether the result came from the compile
/// cache; absent when the cache was not used.
json::Value StepOf(const std::optional<exec::StepReport>& step, const std::optional<bool>& cached) {
  if (!step) return nullptr;
  const jail::Outcome& outcome = step->outcome;
  json::Object object = {{"end", jail::EndName(outcome.end)},
                         {"exit_code", nullptr},
                         {"signal", nullptr},
                         {"wall_ms", Milliseconds(outcome.wall)},
                         {"cpu_user_ms", Milliseconds(outcome.cpu_user)},
                         {"cpu_system_ms", Milliseconds(outcome.cpu_system)},
                         {"memory_peak_bytes", OrNull(outcome.memory_peak)},
                         {"processes_peak", OrNull(outcome.processes_peak)},
                         {"oom_kills", outcome.oom_kills},
                         {"warm", outcome.warm},
                         {"stdout", json::Text(step->out)},
                         {"stderr", json::Text(step->err)}};
  if (outcome.end == jail::End::kExited) object["exit_code"] = outcome.exit_code;
  if (outcome.signal != 0) object["signal"] = jail::SignalName(outcome.signal);
  AddTexts(object, "limits_lowered", outcome.limits_lowered);
  if (cached) object["cached"] = *cached;
  if (outcome.end == jail::End::kSetupFailed) {
    object["setup_failure"] = json::Text(outcome.setup_failure);
  }
  return object;
}

json::Array FilesOf(const std::vector<WrittenFile>& files) {
  json::Array all;
  for (const WrittenFile& file : files) {
    json::Object object = {{"path", json::Text(file.path)},
                           {"bytes", static_cast<std::int64_t>(file.bytes)},
                           {"written", file.problem.empty()}};
    if (!file.problem.empty()) object["problem"] = json::Text(file.problem);
    all.push_back(std::move(object));
  }
  return all;
}

}  // namespace

std::string ReportJson(const RunReport& shown) {
  const exec::Report& report = shown.report;
  json::Object object = {{"language", shown.language},
                         {"isolation", jail::GradeName(report.isolation)}};
  AddTexts(object, "isolation_notes", report.isolation_notes);
  if (report.install_failure) object["install_failure"] = json::Text(*report.install_failure);
  object["compile"] = StepOf(report.compile, report.compile_hit);
  object["run"] = StepOf(report.run, std::nullopt);
  if (report.install.count() > 0) object["install_ms"] = Milliseconds(report.install);
  if (!shown.files.empty()) object["files"] = FilesOf(shown.files);
  AddTexts(object, "files_left_out", report.artifacts_left_out);
  AddTexts(object, "skipped", shown.skipped);
  object["exit_code"] = shown.exit_code;
  return json::Write(object);
}

}  // namespace polybox::cmd
