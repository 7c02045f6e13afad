#include "secrets/text_scan.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace polybox::secrets {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsUpper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool IsLower(char c) {
  return c >= 'a' && c <= 'z';
}
bool IsNameCharacter(char c) {
  return IsDigit(c) || IsUpper(c) || IsLower(c) || c == '_';
}
bool IsBlank(char c) {
  return c == ' ' || c == '\t';
}

std::size_t SkipBreak(std::string_view text, std::size_t at) {
  std::size_t i = at;
  if (i < text.size() && text[i] == '\r') ++i;
  if (i >= text.size() || text[i] != '\n') return at;
  ++i;
  while (i < text.size() && IsBlank(text[i])) ++i;
  // "12<tab>" as Read and output_query show lines, "12:" and "12-" as Grep does.
  std::size_t number = i;
  while (number < text.size() && IsDigit(text[number])) ++number;
  const bool numbered = number > i && number < text.size() &&
                        (text[number] == '\t' || text[number] == ':' || text[number] == '-');
  return numbered ? number + 1 : i;
}

std::size_t SkipBreakBackward(std::string_view text, std::size_t at) {
  std::size_t i = at;
  if (i > 0 && (text[i - 1] == '\t' || text[i - 1] == ':' || text[i - 1] == '-')) {
    std::size_t digits = i - 1;
    while (digits > 0 && IsDigit(text[digits - 1])) --digits;
    if (digits < i - 1) i = digits;
  }
  while (i > 0 && IsBlank(text[i - 1])) --i;
  if (i == 0 || text[i - 1] != '\n') return at;
  --i;
  return i > 0 && text[i - 1] == '\r' ? i - 1 : i;
}

bool IsWordStart(std::string_view text, std::size_t at) {
  if (at == 0 || !IsNameCharacter(text[at - 1])) return true;
  const char before = text[at - 1];
  return (before == 'n' || before == 't' || before == 'r') && at > 1 && text[at - 2] == '\\';
}

double EntropyOf(std::string_view text) {
  std::array<unsigned, 256> counts{};
  for (const char c : text) ++counts[static_cast<unsigned char>(c)];
  double bits = 0;
  const auto size = static_cast<double>(text.size());
  for (const unsigned count : counts) {
    if (count != 0) bits -= count / size * std::log2(count / size);
  }
  return bits;
}

double MixtureOf(std::string_view text) {
  std::size_t pairs = 0;
  std::size_t changes = 0;
  char before = 0;
  for (const char c : text) {
    if (!IsNameCharacter(c) || c == '_') continue;
    const bool same = (IsDigit(before) && IsDigit(c)) || (IsUpper(before) && IsUpper(c)) ||
                      (IsLower(before) && IsLower(c)) || (IsUpper(before) && IsLower(c));
    pairs += before == 0 ? 0 : 1;
    changes += before == 0 || same ? 0 : 1;
    before = c;
  }
  return pairs == 0 ? 0 : static_cast<double>(changes) / static_cast<double>(pairs);
}

bool HasDigitAndLetter(std::string_view text) {
  return std::ranges::any_of(text, IsDigit) &&
         std::ranges::any_of(text, [](char c) { return IsUpper(c) || IsLower(c); });
}

bool IsWordLike(std::string_view text) {
  const bool has_upper = std::ranges::any_of(text, IsUpper);
  return std::ranges::all_of(text, [&](char c) {
    return (has_upper ? IsUpper(c) : IsLower(c)) || c == '_' || c == '-' || c == ' ' || c == '.' ||
           c == '/';
  });
}

}  // namespace polybox::secrets
