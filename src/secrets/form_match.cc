#include "secrets/form_match.h"

namespace polybox::secrets {
namespace {

/// Returns whether a text may have been cut before `at`: by the end of a line, or by the words with
/// which tools say that something was left out.
bool IsCutAfter(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  return rest.empty() || rest.front() == '\n' || rest.front() == '\r' || rest.starts_with("...") ||
         rest.starts_with("…") || rest.starts_with(" (");
}

bool IsCutBefore(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  return before.empty() || SkipBreakBackward(text, at) != at || before.ends_with("\n") ||
         before.ends_with("...") || before.ends_with("…") || before.ends_with(") ");
}

/// Returns the part of a cut form if it is worth removing. A word could be any word. A value with
/// blanks begins like other documents of its kind: {"type": ...
std::optional<Span> Part(std::string_view text, Span part, std::string_view form) {
  const bool is_short = part.size() < kAnchorSize;
  const bool has_blanks = form.find_first_of(" \t\r\n") != std::string_view::npos;
  if (is_short || has_blanks || IsWordLike(text.substr(part.begin, part.size()))) return {};
  return part;
}

}  // namespace

std::optional<Span> MatchOnward(std::string_view text, std::size_t begin, std::string_view form) {
  std::size_t at = begin;
  std::size_t done = 0;
  std::size_t cut = begin;
  while (done < form.size()) {
    const std::size_t after = SkipBreak(text, at);
    if (after != at) {
      cut = at;
      // A line of the value may begin with blanks, which the break then has not swallowed.
      const bool own_break = form[done] == '\n' || form[done] == '\r';
      const bool same = own_break && text.substr(at).starts_with(form.substr(done, 2));
      if (same) {
        ++at;
        ++done;
        continue;
      }
      while (done < form.size() && (form[done] == '\n' || form[done] == '\r')) ++done;
      at = after;
    } else if (at < text.size() && text[at] == form[done]) {
      ++at;
      ++done;
    } else {
      break;
    }
  }
  if (done == form.size()) return Span{begin, at};
  if (IsCutAfter(text, at)) return Part(text, {begin, at}, form);
  return cut == begin ? std::nullopt : Part(text, {begin, cut}, form);
}

std::optional<Span> MatchBackward(std::string_view text, std::size_t end, std::string_view form) {
  std::size_t at = end;
  std::size_t left = form.size();
  std::size_t cut = end;
  while (left > 0) {
    if (at > 0 && text[at - 1] == form[left - 1]) {
      --at;
      --left;
      continue;
    }
    const std::size_t before = SkipBreakBackward(text, at);
    if (before == at) break;
    cut = at;
    while (left > 0 && (form[left - 1] == '\n' || form[left - 1] == '\r')) --left;
    at = before;
  }
  if (left == 0) return Span{at, end};
  if (IsCutBefore(text, at)) return Part(text, {at, end}, form);
  return cut == end ? std::nullopt : Part(text, {cut, end}, form);
}

}  // namespace polybox::secrets
