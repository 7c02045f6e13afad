// The metrics of tools of agents. Their names are those of an older server, so that its dashboards
// work with polybox. Any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "obs/families.h"
#include "obs/tool_call.h"

namespace polybox::obs {

/// Figures that other objects keep. Each function is called when the metrics are shown, and may be
/// null.
struct AgentFigures {
  /// How often something was removed from an answer, by what it was taken for.
  std::function<std::vector<KeptCounters::Value>()> scrub_hits;
  std::function<double()> scrubbed_bytes;
};

class AgentMetrics {
 public:
  explicit AgentMetrics(const AgentFigures& figures);

  void CallEnded(const ToolCall& call);
  void AppendTo(std::string& text) const;

 private:
  void CountDetails(const ToolCall& call);
  /// Notices that an agent repeats a call. The caller holds `mutex_`.
  void CountRepetition(const ToolCall& call);
  double ErrorRate() const;

  Counters calls_;
  Histograms durations_;
  Counters read_bytes_;
  Counters written_bytes_;
  Counters edited_bytes_;
  Counters exit_codes_;
  Counters path_violations_;
  Counters repetitions_;
  Gauge error_rate_;
  std::vector<KeptCounters> kept_;

  mutable std::mutex mutex_;
  // All below are guarded by mutex_.
  /// Whether each of the last calls failed, newest last.
  std::deque<bool> failures_;
  /// The hashes of the arguments of the last calls, for each tool.
  std::map<std::string, std::deque<std::uint64_t>> recent_;
};

}  // namespace polybox::obs
