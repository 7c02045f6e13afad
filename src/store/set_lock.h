// The lock of one layer (layer_store.h), such as a package set. It holds across threads and
// processes. Only one holder may make or remove the layer; its users share the lock. The kernel
// releases the locks of a killed process.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace polybox::store {

class [[nodiscard]] SetLock {
 public:
  /// kShared: together with other users. kAlone: excludes all others.
  enum class Mode { kShared, kAlone };

  /// Takes the lock file at `path`, which is created if necessary. Does not wait: returns a lock
  /// that is not held if another holder prevents it.
  static Result<SetLock> Try(const std::string& path, Mode mode);

  SetLock() = default;
  /// Turns a lock of mode kAlone into a shared one. The kernel releases the lock in between. If
  /// another process takes it at that moment, this lock is no longer held.
  void Share();
  bool held() const { return file_.valid(); }
  /// The descriptor of the lock file (borrowed). The file contains the size of the layer. Its
  /// modification time is the time of the layer's last use.
  int file() const { return file_.get(); }

 private:
  explicit SetLock(UniqueFd file) : file_(std::move(file)) {}

  UniqueFd file_;
};

}  // namespace polybox::store
