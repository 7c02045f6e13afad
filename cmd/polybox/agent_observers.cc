#include "agent_observers.h"

#include "build_info.h"

namespace polybox::cmd {

Result<std::unique_ptr<AgentObservers>> AgentObservers::Make(const config::Settings& settings,
                                                             const obs::AgentFigures& figures,
                                                             const log::Logger& log) {
  std::unique_ptr<AgentObservers> observers(new AgentObservers(figures, log));
  if (!settings.audit_log.empty()) {
    POLYBOX_ASSIGN_OR_RETURN(obs::AuditLog audit, obs::AuditLog::Open(settings.audit_log, log));
    observers->audit_ = std::make_unique<obs::AuditLog>(std::move(audit));
  }
  if (!settings.otlp_endpoint.empty()) {
    obs::SpanExporterOptions options;
    POLYBOX_ASSIGN_OR_RETURN(options.collector, obs::ParseCollectorUrl(settings.otlp_endpoint));
    options.version = kVersion;
    observers->spans_ = std::make_unique<obs::SpanExporter>(std::move(options), log);
  }
  return observers;
}

void AgentObservers::Record(const obs::ToolCall& call) {
  metrics_.CallEnded(call);
  if (audit_ != nullptr) audit_->Record(call);
  if (spans_ != nullptr) spans_->Add(call);
}

void AgentObservers::Record(const secrets::Access& access) {
  if (audit_ != nullptr) {
    audit_->Record(obs::SecretAccess{.name = access.name,
                                     .principal = access.principal,
                                     .source = std::string(access.source),
                                     .bytes = access.size});
  }
  // An access must leave a trace also where nobody has asked for an audit log.
  log_.Info("an agent has read a secret", {{"secret", access.name},
                                           {"bytes", access.size},
                                           {"source", access.source},
                                           {"principal", access.principal}});
}

}  // namespace polybox::cmd
