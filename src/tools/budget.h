// Counts how much of an answer's budget is used. A token counts as four characters, which is near
// the truth for code and never needs a model's own tables. One thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace polybox::tools {

class Budget {
 public:
  explicit Budget(std::int64_t tokens)
      : left_(static_cast<std::size_t>(tokens) * kCharactersPerToken) {}

  /// Returns whether `characters` more fit, and takes them if so. After the first refusal nothing
  /// fits any more: an answer has no holes.
  bool Take(std::size_t characters) {
    if (spent_ || characters > left_) {
      spent_ = true;
      return false;
    }
    left_ -= characters;
    return true;
  }
  bool spent() const { return spent_; }
  std::size_t left() const { return left_; }

 private:
  static constexpr std::size_t kCharactersPerToken = 4;

  std::size_t left_;
  bool spent_ = false;
};

}  // namespace polybox::tools
