// Splits bytes into lines of bounded length. One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace polybox::mcp {

class LineReader {
 public:
  struct Line {
    /// Without the line end. Valid until the next call of Add() or Next().
    std::string_view text;
    /// The line was longer than allowed. It is dropped, and `text` is empty.
    bool too_long = false;
  };

  explicit LineReader(Bytes longest) : longest_(longest.count()) {}

  void Add(std::string_view bytes);
  /// Makes a line of the bytes after the last line end.
  void End() { ended_ = true; }
  /// Returns the next whole line that is not empty, or nothing if more bytes are needed.
  std::optional<Line> Next();

 private:
  const std::size_t longest_;
  std::string bytes_;
  /// Where the next line begins, and up to where no line end was found.
  std::size_t begin_ = 0;
  std::size_t searched_ = 0;
  /// The present line is too long; its bytes are dropped up to the line end.
  bool skipping_ = false;
  bool ended_ = false;
};

}  // namespace polybox::mcp
