#include "exec/memory_note.h"

#include <algorithm>

#include <fmt/format.h>

namespace polybox::exec {
namespace {

/// The length of the output's end that is searched. After its message V8 writes about 2 KiB of
/// stack, the JVM and Go up to a few screens.
constexpr std::size_t kEndSize = 16384;

/// Formats a size for people: exact figures of use are bytes.
std::string InMebibytes(Bytes bytes) {
  return fmt::format("{}MiB", bytes.count() >> 20U);
}

/// Returns whether the step had nearly reached its memory limit when a process was killed. The
/// cgroup counts all kills by the kernel, whatever their cause, so a kill alone does not prove it.
/// The kernel takes pages in batches, so the peak can be below the limit.
bool WasAtItsLimit(const jail::Outcome& outcome, const MemoryTerms& terms) {
  return !outcome.memory_peak ||
         outcome.memory_peak->count() >= terms.memory.count() - terms.memory.count() / 8;
}

std::string Limit(const MemoryTerms& terms) {
  const std::string raise =
      terms.raised_by.empty() ? "" : fmt::format("; raise it with {}", terms.raised_by);
  return fmt::format("limit {}{}", FormatBytes(terms.memory), raise);
}

std::string AboutKills(const jail::Outcome& outcome, const MemoryTerms& terms) {
  const bool compiling = terms.step == StepKind::kCompile;
  const bool all = outcome.end == jail::End::kOutOfMemory;
  const std::string what =
      all ? (compiling ? "compilation killed" : "killed")
          : fmt::format("{} process{} of the {} killed", outcome.oom_kills,
                        outcome.oom_kills == 1 ? "" : "es", compiling ? "compilation" : "run");
  if (WasAtItsLimit(outcome, terms)) {
    return fmt::format("{}: out of memory ({})", what, Limit(terms));
  }
  return fmt::format(
      "{}: the machine, or the container of polybox, is out of memory (used {} of its limit {})",
      what, InMebibytes(*outcome.memory_peak), FormatBytes(terms.memory));
}

/// Texts can begin with a line end, so that they are found only at the start of a line.
std::string_view Trimmed(std::string_view words) {
  while (words.starts_with('\n')) words.remove_prefix(1);
  return words;
}

/// Returns whether the step ended by itself, and in failure. Only then can lack of memory be the
/// cause.
bool Failed(const jail::Outcome& outcome) {
  return outcome.end == jail::End::kSignalled ||
         (outcome.end == jail::End::kExited && outcome.exit_code != 0);
}

std::string AboutWords(const jail::Outcome& outcome, std::string_view err,
                       const MemoryTerms& terms) {
  const auto said = std::ranges::find_if(terms.words, [&](const std::string& words) {
    return err.find(words) != std::string_view::npos;
  });
  if (said == terms.words.end()) return "";
  // The peak is known only with a cgroup, and only a cgroup counts kills.
  const char* kills = outcome.memory_peak ? ", and no process was killed" : "";
  const std::string raise =
      terms.raised_by.empty() ? "" : fmt::format("; raise the first with {}", terms.raised_by);
  return fmt::format(
      "the error output says \"{}\"{} (limits: memory {}, address space {}{}; a runtime can have a "
      "limit of its own)",
      Trimmed(*said), kills, FormatBytes(terms.memory), FormatBytes(terms.address_space), raise);
}

}  // namespace

std::string MemoryNote(const jail::Outcome& outcome, std::string_view err,
                       const MemoryTerms& terms) {
  std::string note;
  if (outcome.oom_kills > 0) {
    note = AboutKills(outcome, terms);
  } else if (outcome.end == jail::End::kOutOfMemory) {
    note = fmt::format("not started: too little memory for any program ({})", Limit(terms));
  } else if (Failed(outcome)) {
    note = AboutWords(outcome, err, terms);
  }
  return note.empty() ? "" : "polybox: " + note + "\n";
}

void ErrorEnd::Add(std::string_view text) {
  text_ += text.substr(text.size() - std::min(text.size(), kEndSize));
  if (text_.size() > 2 * kEndSize) text_.erase(0, text_.size() - kEndSize);
}

std::string ErrorEnd::Note(const jail::Outcome& outcome, const MemoryTerms& terms) const {
  std::string note = MemoryNote(outcome, text_, terms);
  const bool in_line = !text_.empty() && !text_.ends_with('\n');
  return in_line && !note.empty() ? "\n" + note : note;
}

}  // namespace polybox::exec
