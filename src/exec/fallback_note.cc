#include "exec/fallback_note.h"

#include <fmt/format.h>

namespace polybox::exec {

std::string FallbackNote(std::string_view language, const StepReport& compile) {
  if (!compile.memory_note.empty()) {
    constexpr std::string_view kLead = "polybox: ";
    std::string_view note = compile.memory_note;
    note.remove_prefix(note.find(kLead) + kLead.size());
    return fmt::format("polybox: as {}: {}", language, note);
  }
  const std::string why = jail::Explain(compile.outcome, compile.limits);
  return why.empty() ? "" : fmt::format("polybox: as {}: compilation {}\n", language, why);
}

void NoteFallback(std::string_view language, const Report& second, const Request& request,
                  Report& first) {
  if (!second.compile || !first.run) return;
  std::string note = FallbackNote(language, *second.compile);
  if (note.empty()) return;
  if (!first.run->err.empty() && !first.run->err.ends_with('\n')) note.insert(0, "\n");
  first.run->err += note;
  if (request.wants_combined) first.run->combined += note;
  if (request.on_output) request.on_output(StepKind::kRun, Stream::kErr, note);
}

}  // namespace polybox::exec
