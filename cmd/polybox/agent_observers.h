// What records the calls of tools: metrics, the audit log and spans, as the settings choose them.
#pragma once

#include <memory>

#include "base/log.h"
#include "base/result.h"
#include "config/settings.h"
#include "obs/agent_metrics.h"
#include "obs/audit_log.h"
#include "obs/span_exporter.h"
#include "secrets/secret_store.h"

namespace polybox::cmd {

/// Any thread may record. Destroying the object sends the last spans.
class AgentObservers {
 public:
  /// An error is a mistake in the settings.
  static Result<std::unique_ptr<AgentObservers>> Make(const config::Settings& settings,
                                                      const obs::AgentFigures& figures,
                                                      const log::Logger& log);

  void Record(const obs::ToolCall& call);
  void Record(const secrets::Access& access);
  const obs::AgentMetrics& metrics() const { return metrics_; }
  /// Null without a collector.
  const obs::SpanExporter* spans() const { return spans_.get(); }

 private:
  AgentObservers(const obs::AgentFigures& figures, const log::Logger& log)
      : log_(log), metrics_(figures) {}

  log::Logger log_;
  obs::AgentMetrics metrics_;
  std::unique_ptr<obs::AuditLog> audit_;
  std::unique_ptr<obs::SpanExporter> spans_;
};

}  // namespace polybox::cmd
