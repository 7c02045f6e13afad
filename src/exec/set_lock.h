// The lock of one package set, held across threads and processes: alone while it is installed or
// removed, together by those who use it. A killed process holds nothing.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace polybox::exec {

class [[nodiscard]] SetLock {
 public:
  enum class Mode { kShared, kAlone };

  /// Takes the lock file at `path`, which is made; an empty lock when another holds it.
  static Result<SetLock> Try(const std::string& path, Mode mode);

  SetLock() = default;
  /// From alone to together with others. Another may be quicker: then it is no longer held.
  void Share();
  bool held() const { return file_.valid(); }
  /// The file itself holds the size of the set, and its time of change is that of its last use.
  int file() const { return file_.get(); }

 private:
  explicit SetLock(UniqueFd file) : file_(std::move(file)) {}

  UniqueFd file_;
};

}  // namespace polybox::exec
