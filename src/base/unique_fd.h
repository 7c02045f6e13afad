// UniqueFd owns a file descriptor and closes it. A parameter `int fd` is always borrowed: the
// function that gets it must not close it.
#pragma once

#include <utility>

namespace polybox {

class [[nodiscard]] UniqueFd {
 public:
  UniqueFd() = default;
  /// Takes ownership of `fd`. A negative number means that there is no descriptor.
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  /// Returns the descriptor and gives up its ownership; the caller must close it.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  /// Closes the present descriptor and takes ownership of `fd`. close() is called only once: on
  /// Linux the descriptor is closed even when close() reports EINTR.
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

}  // namespace polybox
