#include "workspace/glob_pattern.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/printable.h"

namespace polybox::workspace {
namespace {

/// Nested braces multiply. No pattern that a person writes has more alternatives.
constexpr std::size_t kMostAlternatives = 256;
/// Longer than any path; bounds the time of a match.
constexpr std::size_t kLongestPattern = 4096;
constexpr std::size_t kShownPattern = 200;
/// Bytes that are not UTF-8 get numbers beyond those of Unicode.
constexpr std::uint32_t kFirstRawByte = 0x110000;

Error Malformed(std::string_view pattern, std::string_view why) {
  return {ErrorKind::kInvalid, fmt::format("malformed pattern \"{}\": {}",
                                           PrintableForQuotes(pattern, kShownPattern), why)};
}

/// Returns the length of the character at the start of `text`, which is not empty.
std::size_t CharacterLength(std::string_view text) {
  const std::size_t length = Utf8SequenceLength(text);
  return length == 0 ? 1 : length;
}

/// Returns the number of the character at the start of `text`, which is not empty.
std::uint32_t CharacterAt(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  switch (Utf8SequenceLength(text)) {
    case 1:
      return byte(0);
    case 2:
      return ((byte(0) & 0x1fU) << 6U) | (byte(1) & 0x3fU);
    case 3:
      return ((byte(0) & 0xfU) << 12U) | ((byte(1) & 0x3fU) << 6U) | (byte(2) & 0x3fU);
    case 4:
      return ((byte(0) & 7U) << 18U) | ((byte(1) & 0x3fU) << 12U) | ((byte(2) & 0x3fU) << 6U) |
             (byte(3) & 0x3fU);
    default:
      return kFirstRawByte + byte(0);
  }
}

/// The first braces of a pattern: the text around them and the texts inside.
struct Split {
  std::string before;
  std::vector<std::string> choices;
  std::string after;
};

/// Returns nothing if the pattern has no braces; fails if one is not closed.
Result<std::optional<Split>> SplitBraces(std::string_view pattern) {
  std::size_t open = std::string_view::npos;
  int depth = 0;
  std::size_t choice = 0;
  Split split;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
      continue;
    }
    if (pattern[i] == '{') {
      if (++depth > 1) continue;
      open = i;
      choice = i + 1;
    }
    if (depth == 0) continue;
    const bool ends = pattern[i] == '}' && --depth == 0;
    if (!ends && !(pattern[i] == ',' && depth == 1)) continue;
    split.choices.emplace_back(pattern.substr(choice, i - choice));
    choice = i + 1;
    if (!ends) continue;
    split.before = pattern.substr(0, open);
    split.after = pattern.substr(i + 1);
    return std::optional(std::move(split));
  }
  if (depth > 0) return Malformed(pattern, "a \"{\" is not closed");
  return std::optional<Split>();
}

/// Adds every pattern without braces that `pattern` stands for.
Status Expand(const std::string& pattern, std::vector<std::string>& expanded) {
  std::vector<std::string> todo = {pattern};
  while (!todo.empty()) {
    if (todo.size() + expanded.size() > kMostAlternatives) {
      return Malformed(pattern, "too many alternatives");
    }
    const std::string next = std::move(todo.back());
    todo.pop_back();
    POLYBOX_ASSIGN_OR_RETURN(const std::optional<Split> split, SplitBraces(next));
    if (!split) {
      expanded.push_back(next);
      continue;
    }
    for (const std::string& choice : split->choices) {
      todo.push_back(split->before + choice + split->after);
    }
  }
  return {};
}

}  // namespace

std::vector<std::string_view> SplitPath(std::string_view path) {
  std::vector<std::string_view> names;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) names.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return names;
}

Result<Glob> Glob::Compile(std::string_view pattern, Braces braces) {
  if (pattern.size() > kLongestPattern) return Malformed(pattern, "too long");
  std::vector<std::string> expanded = {std::string(pattern)};
  if (braces == Braces::kAlternatives) {
    expanded.clear();
    POLYBOX_RETURN_IF_ERROR(Expand(std::string(pattern), expanded));
  }
  Glob glob;
  for (const std::string& each : expanded) {
    POLYBOX_ASSIGN_OR_RETURN(Alternative alternative, CompileOne(each));
    glob.alternatives_.push_back(std::move(alternative));
  }
  return glob;
}

Result<Glob::Alternative> Glob::CompileOne(std::string_view pattern) {
  Alternative alternative;
  for (const std::string_view text : SplitPath(pattern)) {
    if (text == ".") continue;
    POLYBOX_ASSIGN_OR_RETURN(Segment segment, CompileSegment(text));
    alternative.push_back(std::move(segment));
  }
  // "a/**" means what is below "a", not "a" itself.
  if (alternative.size() > 1 && alternative.back().any_depth) {
    alternative.push_back({.tokens = {{.kind = Token::Kind::kAnyText}}});
  }
  return alternative;
}

Result<Glob::Segment> Glob::CompileSegment(std::string_view text) {
  if (text == "**") return Segment{.any_depth = true};
  Segment segment;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '[') {
      POLYBOX_ASSIGN_OR_RETURN(Token token, CompileClass(text, at));
      segment.tokens.push_back(std::move(token));
      continue;
    }
    if (c == '*') {
      segment.tokens.push_back({.kind = Token::Kind::kAnyText});
    } else if (c == '?') {
      segment.tokens.push_back({.kind = Token::Kind::kAnyCharacter});
    } else {
      if (c == '\\' && at + 1 < text.size()) ++at;
      segment.tokens.push_back({.byte = text[at]});
    }
    ++at;
  }
  return segment;
}

Result<Glob::Token> Glob::CompileClass(std::string_view text, std::size_t& at) {
  const std::string_view whole = text;
  std::size_t i = at + 1;
  Token token{.kind = Token::Kind::kOneOf};
  if (i < text.size() && (text[i] == '!' || text[i] == '^')) {
    token.kind = Token::Kind::kNoneOf;
    ++i;
  }
  // A "]" directly after the opening bracket stands for itself.
  for (bool first = true; i < text.size() && (first || text[i] != ']'); first = false) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    Range range;
    range.from = range.to = CharacterAt(text.substr(i));
    i += CharacterLength(text.substr(i));
    if (i + 1 < text.size() && text[i] == '-' && text[i + 1] != ']') {
      ++i;
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      range.to = CharacterAt(text.substr(i));
      i += CharacterLength(text.substr(i));
    }
    if (range.from > range.to) return Malformed(whole, "a range is in the wrong order");
    token.ranges.push_back(range);
  }
  if (i >= text.size()) return Malformed(whole, "a \"[\" is not closed");
  at = i + 1;
  return token;
}

/// Returns how many bytes of `rest` the token takes; 0 if it does not fit. Not for kAnyText.
std::size_t Glob::TokenMatches(const Token& token, std::string_view rest) {
  if (rest.empty()) return 0;
  if (token.kind == Token::Kind::kByte) return rest[0] == token.byte ? 1 : 0;
  if (token.kind == Token::Kind::kAnyCharacter) return CharacterLength(rest);
  const std::uint32_t character = CharacterAt(rest);
  const bool listed = std::ranges::any_of(token.ranges, [&](const Range& range) {
    return character >= range.from && character <= range.to;
  });
  return listed == (token.kind == Token::Kind::kOneOf) ? CharacterLength(rest) : 0;
}

bool Glob::SegmentMatches(const Segment& segment, std::string_view name) {
  const std::vector<Token>& tokens = segment.tokens;
  std::size_t token = 0;
  std::size_t at = 0;
  // The latest "*" and the place up to which it reaches. Only the latest must be tried again.
  std::optional<std::size_t> star;
  std::size_t reach = 0;
  while (at < name.size() || token < tokens.size()) {
    if (token < tokens.size() && tokens[token].kind == Token::Kind::kAnyText) {
      star = token++;
      reach = at;
      continue;
    }
    const std::size_t taken =
        token < tokens.size() ? TokenMatches(tokens[token], name.substr(at)) : 0;
    if (taken > 0) {
      ++token;
      at += taken;
      continue;
    }
    if (!star || reach >= name.size()) return false;
    reach += CharacterLength(name.substr(reach));
    at = reach;
    token = *star + 1;
  }
  return true;
}

bool Glob::AlternativeMatches(const Alternative& alternative,
                              const std::vector<std::string_view>& names) {
  std::size_t segment = 0;
  std::size_t at = 0;
  // As in SegmentMatches(), with "**" and directories in place of "*" and characters.
  std::optional<std::size_t> star;
  std::size_t reach = 0;
  while (at < names.size() || segment < alternative.size()) {
    if (segment < alternative.size() && alternative[segment].any_depth) {
      star = segment++;
      reach = at;
      continue;
    }
    if (segment < alternative.size() && at < names.size() &&
        SegmentMatches(alternative[segment], names[at])) {
      ++segment;
      ++at;
      continue;
    }
    if (!star || reach >= names.size()) return false;
    at = ++reach;
    segment = *star + 1;
  }
  return true;
}

bool Glob::Matches(std::string_view path) const {
  const std::vector<std::string_view> names = SplitPath(path);
  return std::ranges::any_of(alternatives_, [&](const Alternative& alternative) {
    return AlternativeMatches(alternative, names);
  });
}

}  // namespace polybox::workspace
