// A complete stored output as one piece of memory, for parsers: no part of it is copied twice, and
// what is on disk stays there until it is read. Any thread may read it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace polybox::shells {

class MappedOutput {
 public:
  MappedOutput() = default;
  /// Puts `head` in front of the first `size` bytes of the file `fd` (borrowed). The file must
  /// never become shorter.
  static Result<MappedOutput> Make(std::string_view head, int fd, std::size_t size);
  /// Holds a text that is in memory.
  static MappedOutput Of(std::string text);

  MappedOutput(MappedOutput&& other) noexcept { *this = std::move(other); }
  MappedOutput& operator=(MappedOutput&& other) noexcept;
  ~MappedOutput();

  /// Valid as long as the object.
  std::string_view view() const { return region_ == nullptr ? std::string_view(text_) : view_; }

 private:
  std::string text_;
  /// Null when `text_` is the output.
  void* region_ = nullptr;
  std::size_t region_size_ = 0;
  std::string_view view_;
};

}  // namespace polybox::shells
