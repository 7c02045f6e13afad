// Keeps the output of a step within a limit. Of a longer output, the first and the last part are
// kept. A line between them says how many bytes are missing. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace polybox::exec {

class Capture {
 public:
  /// Keeps at most `limit` bytes.
  explicit Capture(Bytes limit);

  /// Adds the next part of the output.
  void Add(std::string_view text);
  bool truncated() const { return dropped_ > 0; }
  /// Returns the kept output: at most the limit, and the line in the middle.
  std::string Text() const;

 private:
  std::size_t head_limit_;
  std::size_t tail_limit_;
  std::string head_;
  /// A ring buffer once it is full: the oldest byte is at `tail_begin_`.
  std::string tail_;
  std::size_t tail_begin_ = 0;
  /// The number of bytes that are missing in the middle.
  std::uint64_t dropped_ = 0;
};

}  // namespace polybox::exec
