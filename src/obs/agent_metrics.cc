#include "obs/agent_metrics.h"

#include <algorithm>
#include <chrono>

namespace polybox::obs {
namespace {

/// The calls over which the rate of errors is computed: about what an agent does in ten minutes.
constexpr std::size_t kWindow = 100;
/// So many equal calls in the last few are a loop.
constexpr std::ptrdiff_t kRepetitions = 3;
constexpr std::size_t kRemembered = 12;

std::vector<double> DurationBounds() {
  return {0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120};
}

/// Returns the label of an exit code: few values, in which the usual reasons differ.
std::string ExitLabel(const ToolCall& call) {
  const std::int64_t code = *call.exit_code;
  if (call.status == CallStatus::kTimeout) return "timeout(124)";
  if (code == 0) return "0";
  if (code >= 1 && code <= 125) return "1-125";
  return code >= 126 && code <= 128 ? "126-128" : ">=129";
}

}  // namespace

AgentMetrics::AgentMetrics(const AgentFigures& figures)
    : calls_({"sandbox_tool_calls_total",
              "Calls of tools that have ended.",
              {"tool", "status", "language"}}),
      durations_({"sandbox_tool_duration_seconds", "Time that calls of tools took.", {"tool"}},
                 DurationBounds()),
      read_bytes_({"sandbox_read_bytes_total", "Bytes that the tool Read has shown."}),
      written_bytes_({"sandbox_write_bytes_total", "Bytes that the tool Write has written."}),
      edited_bytes_({"sandbox_edit_bytes_total", "Bytes that the tool Edit has put into files."}),
      exit_codes_({"sandbox_bash_exit_codes_total",
                   "Commands of the tool Bash that ended within the call.",
                   {"exit"}}),
      path_violations_(
          {"sandbox_path_violations_total", "Calls that named a path outside of their workspace."}),
      repetitions_({"sandbox_agent_tool_repetition_total",
                    "Times that an agent made the same call three times in its last twelve.",
                    {"tool"}}),
      error_rate_{{"sandbox_agent_tool_error_rate", "Share of the last 100 calls that failed."},
                  [this] { return ErrorRate(); }} {
  if (figures.scrub_hits) {
    kept_.push_back({{"sandbox_scrub_hits_total",
                      "Secrets that were removed from answers, by what they were taken for.",
                      {"pattern"}},
                     figures.scrub_hits});
  }
  if (figures.scrubbed_bytes) {
    kept_.push_back(
        {{"sandbox_scrub_bytes_redacted_total", "Bytes that were removed from answers."},
         [bytes = figures.scrubbed_bytes] {
           return std::vector<KeptCounters::Value>{{{}, bytes()}};
         }});
  }
}

void AgentMetrics::CallEnded(const ToolCall& call) {
  calls_.Add({call.tool, std::string(NameOf(call.status)), call.language});
  durations_.Observe({call.tool}, std::chrono::duration<double>(call.time).count());
  CountDetails(call);
  const std::lock_guard lock(mutex_);
  failures_.push_back(call.status != CallStatus::kOk);
  if (failures_.size() > kWindow) failures_.pop_front();
  CountRepetition(call);
}

void AgentMetrics::CountDetails(const ToolCall& call) {
  if (call.read_bytes != 0) read_bytes_.Add({}, static_cast<double>(call.read_bytes));
  if (call.written_bytes != 0) written_bytes_.Add({}, static_cast<double>(call.written_bytes));
  if (call.edited_bytes != 0) edited_bytes_.Add({}, static_cast<double>(call.edited_bytes));
  if (call.exit_code) exit_codes_.Add({ExitLabel(call)});
  if (call.left_workspace) path_violations_.Add({});
}

void AgentMetrics::CountRepetition(const ToolCall& call) {
  std::deque<std::uint64_t>& recent = recent_[call.tool];
  recent.push_back(call.arguments_hash);
  if (recent.size() > kRemembered) recent.pop_front();
  // Counted once: when the number is reached, and not for each call after it.
  if (std::ranges::count(recent, call.arguments_hash) == kRepetitions) {
    repetitions_.Add({call.tool});
  }
}

double AgentMetrics::ErrorRate() const {
  const std::lock_guard lock(mutex_);
  if (failures_.empty()) return 0;
  return static_cast<double>(std::ranges::count(failures_, true)) /
         static_cast<double>(failures_.size());
}

void AgentMetrics::AppendTo(std::string& text) const {
  for (const Counters* counters : {&calls_, &read_bytes_, &written_bytes_, &edited_bytes_,
                                   &exit_codes_, &path_violations_, &repetitions_}) {
    counters->AppendTo(text);
  }
  for (const KeptCounters& counters : kept_) counters.AppendTo(text);
  error_rate_.AppendTo(text);
  durations_.AppendTo(text);
}

}  // namespace polybox::obs
