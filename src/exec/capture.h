// Output of a step, kept within bounds: of a stream that is too long the first and the last part
// are kept, with a line between them that says how much is missing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace polybox::exec {

class Capture {
 public:
  explicit Capture(Bytes limit);

  void Add(std::string_view text);
  bool truncated() const { return dropped_ > 0; }
  /// At most the limit and the line in the middle.
  std::string Text() const;

 private:
  std::size_t head_limit_;
  std::size_t tail_limit_;
  std::string head_;
  /// A ring once it is full: the oldest byte is at `tail_begin_`.
  std::string tail_;
  std::size_t tail_begin_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace polybox::exec
