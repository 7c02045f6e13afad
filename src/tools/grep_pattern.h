// A regular expression of an agent. Matching takes linear time and bounded memory, whatever the
// expression is. Immutable once made; any thread. Only grep_pattern.cc includes RE2.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace polybox::tools {

enum class Case { kMatters, kIgnored };
enum class Reach {
  kLine,   ///< A match is within one line.
  kLines,  ///< A match may span lines, and "." also stands for a line end.
};

class GrepPattern {
 public:
  /// Fails with "regex: ..." if the expression cannot be read or is too large.
  static Result<GrepPattern> Compile(std::string_view pattern, Case letters, Reach reach);
  GrepPattern(GrepPattern&&) noexcept;
  ~GrepPattern();

  struct Match {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  /// Returns the first match that begins at `from` or later.
  std::optional<Match> Find(std::string_view text, std::size_t from) const;
  Reach reach() const { return reach_; }

 private:
  GrepPattern(std::unique_ptr<re2::RE2> regex, Reach reach);

  std::unique_ptr<re2::RE2> regex_;
  Reach reach_;
};

}  // namespace polybox::tools
