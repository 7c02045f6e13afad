// Patterns of paths: "*" and "?" within one name, "[a-z]" and "[!a-z]" for one character. "**" is
// any number of directories, "{a,b}" are alternatives. A character behind "\" stands for itself.
// Names are UTF-8; a byte that is not UTF-8 counts as one character. Matching takes time
// proportional to the product of the lengths at most. Immutable once made; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace polybox::workspace {

/// Whether "{a,b}" stands for alternatives; .gitignore files have none.
enum class Braces { kAlternatives, kLiteral };

class Glob {
 public:
  /// Fails if a bracket or brace is not closed, or if the pattern has too many alternatives.
  static Result<Glob> Compile(std::string_view pattern, Braces braces = Braces::kAlternatives);

  /// Returns whether the whole relative path fits.
  bool Matches(std::string_view path) const;

 private:
  struct Range {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
  };
  /// One element of a name.
  struct Token {
    enum class Kind { kByte, kAnyCharacter, kAnyText, kOneOf, kNoneOf } kind = Kind::kByte;
    char byte = 0;
    std::vector<Range> ranges = {};
  };
  /// One component of a path.
  struct Segment {
    /// "**". Then `tokens` is empty.
    bool any_depth = false;
    std::vector<Token> tokens = {};
  };
  using Alternative = std::vector<Segment>;

  static Result<Alternative> CompileOne(std::string_view pattern);
  static Result<Segment> CompileSegment(std::string_view text);
  /// Reads a bracket expression that starts at `at`, and moves `at` behind it.
  static Result<Token> CompileClass(std::string_view text, std::size_t& at);
  static bool SegmentMatches(const Segment& segment, std::string_view name);
  static std::size_t TokenMatches(const Token& token, std::string_view rest);
  static bool AlternativeMatches(const Alternative& alternative,
                                 const std::vector<std::string_view>& names);

  std::vector<Alternative> alternatives_;
};

/// Returns the components of a relative path, without empty ones.
std::vector<std::string_view> SplitPath(std::string_view path);

}  // namespace polybox::workspace
