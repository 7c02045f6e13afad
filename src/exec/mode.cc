#include "exec/mode.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sys/command.h"

namespace polybox::exec {
namespace {

using languages::Language;

template <typename Member>
std::string Names(const std::vector<ModeCandidate>& candidates, Member member) {
  std::vector<std::string_view> names;
  for (const ModeCandidate& candidate : candidates) names.push_back(candidate.*member);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<ModeCandidate> ModeCandidates(const std::vector<Language>& all,
                                          const languages::Toolchains& toolchains,
                                          const std::string& path) {
  std::vector<const Language*> ordered;
  for (const Language& language : all) {
    if (language.mode && !language.toolchain.binaries.empty()) ordered.push_back(&language);
  }
  std::ranges::stable_sort(ordered, {}, [](const Language* l) { return l->mode->order; });
  std::vector<ModeCandidate> candidates;
  for (const Language* language : ordered) {
    ModeCandidate candidate;
    candidate.mode = language->mode->name;
    candidate.language = language->id;
    candidate.command = language->toolchain.binaries[0];
    candidate.found = !sys::FindOnPath(candidate.command, path).empty();
    const auto toolchain = toolchains.find(language->id);
    if (toolchain != toolchains.end() && !toolchain->second.ok()) {
      candidate.missing = toolchain->second.error();
    }
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

Result<ModeCandidate> ChooseMode(std::string_view wanted,
                                 const std::vector<ModeCandidate>& candidates) {
  const auto runs = [](const ModeCandidate& c) { return c.found && !c.missing; };
  if (wanted.empty()) {
    const auto first = std::ranges::find_if(candidates, runs);
    if (first != candidates.end()) return *first;
    return Error(ErrorKind::kUnavailable,
                 fmt::format("no supported runtime found in PATH (tried: {})",
                             Names(candidates, &ModeCandidate::command)));
  }
  const auto named = std::ranges::find(candidates, wanted, &ModeCandidate::mode);
  if (named == candidates.end()) {
    // The kind is not kInvalid, because servers of the execute dialect exit with 1 for an unknown
    // mode.
    return Error(ErrorKind::kNotFound,
                 fmt::format("unsupported mode \"{}\" (supported: {})", wanted,
                             Names(candidates, &ModeCandidate::mode)));
  }
  if (!named->found) {
    return Error(ErrorKind::kUnavailable,
                 fmt::format("mode={} but \"{}\" not found in PATH", wanted, named->command));
  }
  if (named->missing) return Error(*named->missing).In(fmt::format("mode={}", wanted));
  return *named;
}

}  // namespace polybox::exec
