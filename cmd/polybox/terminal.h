// Text output for people: colours on a terminal (unless NO_COLOR is set), plain text otherwise.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace polybox::cmd {

enum class Style { kPlain, kBold, kDim, kGood, kBad, kWarn };

class Terminal {
 public:
  /// `stream` is borrowed and must be stdout or stderr.
  explicit Terminal(std::FILE* stream);

  bool colours() const { return colours_; }
  bool is_terminal() const { return is_terminal_; }
  /// Returns whether a printed line can be overwritten.
  bool repaints() const { return repaints_; }
  std::string Styled(Style style, std::string_view text) const;
  void Print(std::string_view text) const;
  void PrintLine(std::string_view text) const;
  /// Returns false when some output could not be written; errno then has the reason.
  bool Flush() const;

 private:
  std::FILE* stream_;
  bool is_terminal_;
  bool repaints_;
  bool colours_;
};

/// Formats a table. Columns are as wide as their longest cell and two spaces apart; the last column
/// is not padded. Cells are plain text. `styles` holds one style per column; a missing style is
/// plain.
std::string Columns(const std::vector<std::vector<std::string>>& rows,
                    const std::vector<Style>& styles, const Terminal& terminal);

}  // namespace polybox::cmd
