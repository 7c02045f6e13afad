// Makes the file accesses of one thread with the ids of a workspace's owner. A server that runs as
// root could otherwise read files which the owner cannot read, and its new files would be root's.
// The kernel then checks every permission as for the owner.
#pragma once

#include <sys/types.h>

#include "base/result.h"

namespace polybox::workspace {

struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;
};

/// While an object exists, the calling thread accesses files as `owner`. Does nothing if the
/// process is not root, or if the owner is root. Must be destroyed by the same thread.
class [[nodiscard]] ActAsOwner {
 public:
  /// Fails if the kernel refuses the change of ids, for lack of CAP_SETUID or CAP_SETGID.
  static Result<ActAsOwner> Begin(const Owner& owner);
  ActAsOwner(ActAsOwner&& other) noexcept;
  ActAsOwner& operator=(ActAsOwner&&) = delete;
  ActAsOwner(const ActAsOwner&) = delete;
  ~ActAsOwner();

 private:
  explicit ActAsOwner(bool changed) : changed_(changed) {}

  bool changed_;
};

}  // namespace polybox::workspace
