// Small questions about a text that may hold a secret: where a line break with a line number ends,
// what a name is made of, and how random a value is. Any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace polybox::secrets {

/// A part of a text: [begin, end).
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
};

bool IsDigit(char c);
bool IsUpper(char c);
bool IsLower(char c);
/// Letters, digits and "_".
bool IsNameCharacter(char c);
bool IsBlank(char c);

/// Returns the end of the line break at `at`, or `at` if there is none. Blanks at the start of the
/// next line belong to the break, as does a line number of the tool Read.
std::size_t SkipBreak(std::string_view text, std::size_t at);
/// Returns the begin of such a line break that ends at `at`, or `at` if there is none.
std::size_t SkipBreakBackward(std::string_view text, std::size_t at);

/// Returns whether a word can start at `at`: the byte before is no part of a word, or it ends an
/// escape such as \n.
bool IsWordStart(std::string_view text, std::size_t at);

/// Returns the entropy of the distribution of bytes in `text`, in bits per byte.
double EntropyOf(std::string_view text);
/// Returns the share of neighbouring letters and digits that are of different kinds (upper case,
/// lower case, digit). A capital before a small letter counts as the same kind. Names have 0.2 at
/// most, even V1SecretProjection; random text has 0.4 or more.
double MixtureOf(std::string_view text);
bool HasDigitAndLetter(std::string_view text);
/// Returns whether the text consists of letters of one case with separators, as words do.
bool IsWordLike(std::string_view text);

}  // namespace polybox::secrets
