#include "http/turn.h"

namespace polybox::http {

std::string_view OutcomeOf(const Turn& turn) {
  if (turn.status == kClientGone) return "client_gone";
  if (turn.status == kTooSlow) return "too_slow";
  if (turn.fault) return FaultName(*turn.fault);
  if (!turn.note.outcome.empty()) return turn.note.outcome;
  if (turn.status < 400) return "answered";
  return turn.status < 500 ? "refused" : "failed";
}

bool StartsSomething(const Turn& turn) {
  if (turn.match.access != Access::kClients) return false;
  const std::string& method = turn.request.method;
  const bool only_reads = method == "GET" || method == "HEAD" || method == "OPTIONS";
  return !only_reads || turn.match.route->answer_end == AnswerEnd::kClient;
}

log::Level LevelOf(const Turn& turn) {
  const bool succeeded = turn.status < 400 && turn.match.route != nullptr;
  return succeeded ? turn.match.route->log_level : log::Level::kInfo;
}

}  // namespace polybox::http
