// UniqueFd owns a file descriptor. `int fd` in a signature always means borrowed.
#pragma once

#include <utility>

namespace polybox {

class [[nodiscard]] UniqueFd {
 public:
  UniqueFd() = default;
  /// Takes ownership of `fd`; a negative one means empty.
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
  /// Gives the descriptor away; the caller must close it.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  /// Closes what is held, once: on Linux the descriptor is gone even when close() reports EINTR.
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

}  // namespace polybox
