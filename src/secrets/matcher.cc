#include "secrets/matcher.h"

#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/printable.h"
#include "base/split.h"
#include "secrets/form_match.h"
#include "secrets/shape_match.h"

namespace polybox::secrets {
namespace {

/// A line of a value with several lines is a secret of its own if it is as random as a key is.
constexpr std::size_t kShortestLine = 24;
/// The least part of a value that is removed at the end of a text. A shorter one says little.
constexpr std::size_t kShortestRemainder = 4;

bool IsBase64(char c) {
  return IsNameCharacter(c) || c == '+' || c == '/' || c == '-';
}

bool IsKeyLine(std::string_view line) {
  return line.size() >= kShortestLine &&
         std::ranges::all_of(line, [](char c) { return IsBase64(c) || c == '='; }) &&
         !IsWordLike(line);
}

/// Adds the neighbours of a base64 match that have bits of the value.
Span Widen(std::string_view text, Span span, const Form& form) {
  if (form.shares_before && span.begin > 0 && IsBase64(text[span.begin - 1])) --span.begin;
  if (form.shares_after && span.end < text.size() && IsBase64(text[span.end])) ++span.end;
  while (form.shares_after && span.end < text.size() && text[span.end] == '=') ++span.end;
  return span;
}

/// Sorts the hits and joins those that overlap. The label is that of the surest one, and among
/// equally sure ones of the longest.
std::vector<Hit> Join(std::vector<Hit> hits) {
  // Stable, so that of two rows that describe the same token the first one counts.
  std::ranges::stable_sort(hits, {}, [](const Hit& hit) { return hit.span.begin; });
  std::vector<Hit> joined;
  std::size_t size = 0;
  for (const Hit& hit : hits) {
    if (joined.empty() || hit.span.begin >= joined.back().span.end) {
      joined.push_back(hit);
      size = hit.span.size();
      continue;
    }
    Hit& last = joined.back();
    last.span.end = std::max(last.span.end, hit.span.end);
    const bool same = hit.sureness == last.sureness;
    if (same ? hit.span.size() <= size : hit.sureness > last.sureness) continue;
    size = hit.span.size();
    last.label = hit.label;
    last.sureness = hit.sureness;
  }
  return joined;
}

/// A value after a name is a secret only by its context.
Hit::Sureness SurenessOf(const Shape& shape) {
  const bool by_context = shape.form == ShapeForm::kAssignment ||
                          shape.form == ShapeForm::kHeader || shape.form == ShapeForm::kUrl;
  return by_context ? Hit::Sureness::kContext : Hit::Sureness::kToken;
}

}  // namespace

Result<Pattern> ParsePattern(const std::string& text) {
  static const Characters kNames("A-Za-z0-9_.-");
  const std::size_t sign = text.find('=');
  const std::string name = text.substr(0, sign);
  if (sign == std::string::npos || name.empty() || kNames.Span(name, name.size()) != name.size()) {
    return Error(ErrorKind::kInvalid,
                 "expected NAME=REGULAR EXPRESSION, with a name of letters, "
                 "digits, \"_\", \"-\" and \".\"");
  }
  RE2::Options options;
  options.set_log_errors(false);
  auto expression = std::make_shared<const RE2>(text.substr(sign + 1), options);
  if (!expression->ok()) return Error(ErrorKind::kInvalid, expression->error());
  if (RE2::FullMatch("", *expression)) {
    return Error(ErrorKind::kInvalid, "the expression must not match the empty text");
  }
  return Pattern{name, std::move(expression)};
}

Matcher::Matcher(std::vector<KnownValue> values, std::vector<Shape> shapes,
                 std::vector<Pattern> patterns)
    : values_(std::move(values)), shapes_(std::move(shapes)), patterns_(std::move(patterns)) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    AddValue(values_[i].value, i);
    for (const std::string& line : Split(values_[i].value, '\n')) {
      if (line.size() != values_[i].value.size() && IsKeyLine(line)) AddValue(line, i);
    }
  }
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const bool any_case = shapes_[i].form == ShapeForm::kAssignment;
    for (const std::string& start : shapes_[i].starts) {
      Add(start, any_case ? LiteralIndex::Case::kAny : LiteralIndex::Case::kExact,
          {Owner::Kind::kShape, i});
    }
  }
}

void Matcher::AddValue(std::string_view value, std::size_t number) {
  if (value.size() < kShortestValue) return;
  for (Form& form : FormsOf(value)) {
    const std::string& text = form.text;
    Add(text.substr(0, kAnchorSize), LiteralIndex::Case::kExact,
        {Owner::Kind::kBegin, sought_.size()});
    Add(text.substr(text.size() - kAnchorSize), LiteralIndex::Case::kExact,
        {Owner::Kind::kEnd, sought_.size()});
    sought_.push_back({std::move(form), number});
  }
}

void Matcher::Add(const std::string& literal, LiteralIndex::Case letters, Owner owner) {
  index_.Add(literal, letters, static_cast<std::uint32_t>(owners_.size()));
  owners_.push_back(owner);
}

std::vector<Hit> Matcher::Find(std::string_view text) const {
  std::vector<Hit> hits;
  std::vector<Span> spans;
  index_.Search(text, [&](std::uint32_t number, std::size_t begin, std::size_t size) {
    const Owner& owner = owners_[number];
    if (owner.kind == Owner::Kind::kShape) {
      spans.clear();
      const Shape& shape = shapes_[owner.number];
      MatchShape(shape, text, {begin, begin + size}, spans);
      for (const Span& span : spans) hits.push_back({span, shape.name, SurenessOf(shape)});
      return;
    }
    const Sought& sought = sought_[owner.number];
    const std::optional<Span> span = owner.kind == Owner::Kind::kBegin
                                         ? MatchOnward(text, begin, sought.form.text)
                                         : MatchBackward(text, begin + size, sought.form.text);
    if (span) hits.push_back({Widen(text, *span, sought.form), values_[sought.value].name});
  });
  FindAtEnds(text, hits);
  FindPatterns(text, hits);
  return Join(std::move(hits));
}

void Matcher::FindAtEnds(std::string_view text, std::vector<Hit>& hits) const {
  std::size_t end = text.size();
  while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == '\r')) --end;
  const auto is_part = [](std::string_view part) {
    return !IsWordLike(part) && !std::ranges::all_of(part, IsDigit);
  };
  for (const KnownValue& known : values_) {
    const std::string_view value = known.value;
    if (value.size() < kShortestValue) continue;
    for (std::size_t size = std::min(kAnchorSize - 1, end); size >= kShortestRemainder; --size) {
      const std::string_view last = text.substr(end - size, size);
      if (value.starts_with(last) && is_part(last)) {
        hits.push_back({{end - size, end}, known.name});
        break;
      }
    }
    for (std::size_t size = std::min(kAnchorSize - 1, end); size >= kShortestRemainder; --size) {
      if (value.ends_with(text.substr(0, size)) && is_part(text.substr(0, size))) {
        hits.push_back({{0, size}, known.name});
        break;
      }
    }
  }
}

void Matcher::FindPatterns(std::string_view text, std::vector<Hit>& hits) const {
  for (const Pattern& pattern : patterns_) {
    const RE2& expression = *pattern.expression;
    re2::StringPiece groups[2];
    const int count = std::min(2, expression.NumberOfCapturingGroups() + 1);
    std::size_t at = 0;
    while (at <= text.size() &&
           expression.Match(text, at, text.size(), RE2::UNANCHORED, groups, count)) {
      const re2::StringPiece& group =
          count == 2 && groups[1].data() != nullptr ? groups[1] : groups[0];
      const auto begin = static_cast<std::size_t>(group.data() - text.data());
      if (!group.empty()) hits.push_back({{begin, begin + group.size()}, pattern.name});
      const auto after =
          static_cast<std::size_t>(groups[0].data() - text.data()) + groups[0].size();
      at = std::max(after, at + 1);
    }
  }
}

}  // namespace polybox::secrets
