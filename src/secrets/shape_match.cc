#include "secrets/shape_match.h"

#include <algorithm>
#include <optional>

namespace polybox::secrets {
namespace {

using Found = std::optional<Span>;

/// A name in the configuration of a program is shorter, and so is the space around "=".
constexpr std::size_t kLongestName = 64;
constexpr std::size_t kMostBlanks = 16;
/// An unquoted value could be an identifier. A random one of this length is none.
constexpr std::size_t kShortestUnquoted = 20;
constexpr double kUnquotedEntropy = 3.5;
/// Above what names of types and paths have.
constexpr double kMixtureOfNames = 0.22;
/// A line of a .env file says that its value is secret, so a password of this length counts.
constexpr std::size_t kShortestInEnvironment = 8;

/// Returns whether a run of the shape's characters is a value: its length and its randomness.
bool IsValue(const Shape& shape, std::string_view value) {
  if (value.size() < shape.shortest || value.size() > shape.longest) return false;
  if (shape.needs_digit && std::ranges::none_of(value, IsDigit)) return false;
  if (shape.needs_upper && std::ranges::none_of(value, IsUpper)) return false;
  if (shape.needs_lower && std::ranges::none_of(value, IsLower)) return false;
  return shape.entropy == 0 || EntropyOf(value) >= shape.entropy;
}

/// Returns the run of the shape's characters at `at`, without the full stop of a sentence.
std::string_view RunAt(const Shape& shape, std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(std::min(at, text.size()));
  std::string_view run = rest.substr(0, shape.characters.Span(rest, shape.longest + 2));
  while (run.ends_with('.')) run.remove_suffix(1);
  return run;
}

Found MatchToken(const Shape& shape, std::string_view text, Span start) {
  if (!IsWordStart(text, start.begin)) return {};
  const std::string_view value = RunAt(shape, text, start.end);
  if (!IsValue(shape, value)) return {};
  return Span{start.begin, start.end + value.size()};
}

Found MatchJwt(const Shape& shape, std::string_view text, Span start) {
  if (start.begin > 0 && shape.characters.Has(text[start.begin - 1]) &&
      !IsWordStart(text, start.begin)) {
    return {};
  }
  std::size_t at = start.begin;
  for (int part = 0; part < 3; ++part) {
    const std::string_view rest = text.substr(at);
    // The payload is a JSON object as well.
    if (part == 1 && !rest.starts_with("eyJ")) return {};
    const std::size_t size = shape.characters.Span(rest, shape.longest + 1);
    if (size < shape.shortest || size > shape.longest) return {};
    at += size;
    if (part < 2 && (at >= text.size() || text[at] != '.')) return {};
    if (part < 2) ++at;
  }
  return Span{start.begin, at};
}

/// Adds each line between BEGIN and END. Line numbers and quotes around the lines stay.
void MatchKeyBlock(const Shape& shape, std::string_view text, Span start,
                   std::vector<Span>& found) {
  constexpr std::string_view kLabel = "PRIVATE KEY";
  const std::string_view head = text.substr(start.end, kLongestName);
  const std::size_t label = head.find(kLabel);
  const std::size_t dashes = head.find("-----");
  if (label == std::string_view::npos || dashes == std::string_view::npos || dashes < label) return;
  const std::size_t begin = start.end + dashes + 5;
  const std::string_view rest = text.substr(begin, shape.longest);
  const std::string_view body = rest.substr(0, rest.find("-----"));
  bool in_key = false;
  for (std::size_t i = 0; i < body.size();) {
    // The "n" of an escaped line break is no part of the key.
    if (body[i] == '\\') {
      i += 2;
      continue;
    }
    const std::size_t size = shape.characters.Span(body.substr(i), body.size());
    in_key |= size >= shape.shortest;
    if (in_key && size > 0) found.push_back({begin + i, begin + i + size});
    i += size;
    const std::size_t after = SkipBreak(body, i);
    i = after > i ? after : i + (size == 0 ? 1 : 0);
  }
}

Found MatchHeader(const Shape& shape, std::string_view text, Span start) {
  if (!IsWordStart(text, start.begin)) return {};
  const std::string_view value = RunAt(shape, text, start.end);
  if (!IsValue(shape, value) || !HasDigitAndLetter(value)) return {};
  return Span{start.end, start.end + value.size()};
}

Found MatchUrl(const Shape& shape, std::string_view text, Span start) {
  static const Characters kUser("A-Za-z0-9._~%+-");
  if (start.begin == 0 || !IsNameCharacter(text[start.begin - 1])) return {};
  const std::string_view rest = text.substr(start.end);
  const std::size_t user = kUser.Span(rest, kLongestName);
  if (user >= rest.size() || rest[user] != ':') return {};
  const std::size_t begin = start.end + user + 1;
  const std::string_view value = RunAt(shape, text, begin);
  const std::size_t end = begin + value.size();
  if (end >= text.size() || text[end] != '@') return {};
  if (!IsValue(shape, value) || !HasDigitAndLetter(value)) return {};
  return Span{begin, end};
}

std::size_t SkipBlanks(std::string_view text, std::size_t at) {
  const std::size_t most = std::min(text.size(), at + kMostBlanks);
  while (at < most && IsBlank(text[at])) ++at;
  return at;
}

/// Returns the length of a quote at `at`, which may be escaped; 0 if there is none.
std::size_t QuoteSize(std::string_view text, std::size_t at) {
  const std::size_t escape = at < text.size() && text[at] == '\\' ? 1 : 0;
  const std::size_t quote = at + escape;
  if (quote >= text.size()) return 0;
  const char c = text[quote];
  return c == '"' || c == '\'' || c == '`' ? escape + 1 : 0;
}

/// Returns the end of "=", ":", ":=" or "=>" at `at`; `at` if there is none.
std::size_t SkipAssignment(std::string_view text, std::size_t at) {
  const std::string_view two = text.substr(std::min(at, text.size()), 2);
  if (two == ":=" || two == "=>") return at + 2;
  if (two == "==" || two == "::" || two == "=~" || two.empty()) return at;
  return two.front() == '=' || two.front() == ':' ? at + 1 : at;
}

/// A value on the right of an assignment.
struct Assigned {
  /// The whole name, in which the start of the shape is the end.
  std::string_view name;
  std::size_t at = 0;
  /// Where the quote at `at` ends; the same as `at` without a quote.
  std::size_t value = 0;
  /// Whether "=" stands between the name and the value and no blank.
  bool tight = false;
};

std::optional<Assigned> ReadAssignment(std::string_view text, Span start) {
  std::size_t at = start.end;
  if (at < text.size() && IsNameCharacter(text[at])) return {};
  std::size_t name = start.begin;
  const std::size_t first = name - std::min(name, kLongestName);
  while (name > first && IsNameCharacter(text[name - 1])) --name;
  at += QuoteSize(text, at);
  const std::size_t sign = SkipBlanks(text, at);
  const std::size_t after = SkipAssignment(text, sign);
  if (after == sign) return {};
  Assigned assigned;
  assigned.name = text.substr(name, start.end - name);
  assigned.at = SkipBlanks(text, after);
  assigned.tight = sign == start.end && assigned.at == after && text[sign] == '=';
  assigned.value = assigned.at + QuoteSize(text, assigned.at);
  return assigned;
}

/// Returns whether nothing but the end of a line, a blank or a separator follows.
bool IsEndOfWord(std::string_view text, std::size_t at) {
  return at >= text.size() || IsBlank(text[at]) || text[at] == '\n' || text[at] == '\r' ||
         text[at] == '\\' || text[at] == ';' || text[at] == ',' || text[at] == '&' ||
         text[at] == '"' || text[at] == '\'';
}

/// Returns whether a line of a .env file, or of the output of `env`, sets the name to the value.
bool IsEnvironmentLine(const Assigned& assigned, std::string_view value) {
  const bool upper = std::ranges::none_of(assigned.name, IsLower);
  return upper && assigned.tight && value.size() >= kShortestInEnvironment &&
         HasDigitAndLetter(value) && !value.starts_with('/') && !value.starts_with('.');
}

/// Returns whether an unquoted value is too random for an identifier.
bool IsRandomWord(std::string_view value) {
  const bool mixed = std::ranges::any_of(value, IsDigit) && std::ranges::any_of(value, IsUpper) &&
                     std::ranges::any_of(value, IsLower);
  const bool one_word = value.find_first_of("._-~/") == std::string_view::npos;
  return value.size() >= kShortestUnquoted && mixed && one_word &&
         EntropyOf(value) >= kUnquotedEntropy && MixtureOf(value) > kMixtureOfNames;
}

Found MatchAssignment(const Shape& shape, std::string_view text, Span start) {
  const std::optional<Assigned> assigned = ReadAssignment(text, start);
  if (!assigned) return {};
  const std::string_view value = RunAt(shape, text, assigned->value);
  const std::size_t end = assigned->value + value.size();
  const std::size_t quote = assigned->value - assigned->at;
  const bool quoted = quote > 0 && text.substr(end, quote) == text.substr(assigned->at, quote);
  if (quote > 0 && !quoted) return {};
  if (quote == 0 && !IsEndOfWord(text, end)) return {};
  const bool is_secret = quoted ? IsValue(shape, value) && MixtureOf(value) > kMixtureOfNames
                                : value.size() <= shape.longest &&
                                      (IsEnvironmentLine(*assigned, value) || IsRandomWord(value));
  if (!is_secret) return {};
  return Span{assigned->value, end};
}

}  // namespace

void MatchShape(const Shape& shape, std::string_view text, Span start, std::vector<Span>& found) {
  Found one;
  switch (shape.form) {
    case ShapeForm::kToken:
      one = MatchToken(shape, text, start);
      break;
    case ShapeForm::kJwt:
      one = MatchJwt(shape, text, start);
      break;
    case ShapeForm::kKeyBlock:
      return MatchKeyBlock(shape, text, start, found);
    case ShapeForm::kAssignment:
      one = MatchAssignment(shape, text, start);
      break;
    case ShapeForm::kHeader:
      one = MatchHeader(shape, text, start);
      break;
    case ShapeForm::kUrl:
      one = MatchUrl(shape, text, start);
      break;
  }
  if (one) found.push_back(*one);
}

}  // namespace polybox::secrets
