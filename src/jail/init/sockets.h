// Finds the sockets that the last session left in its network namespace. They are in flight: they
// were sent over another socket and never received, so that no process has a descriptor of them.
// Used by the slot init on its one thread.
#pragma once

#include <array>
#include <string>

#include <sys/types.h>

#include "base/unique_fd.h"

namespace polybox::jail::init {

/// The inode numbers of both ends of a socket pair, as in /proc/net/unix; 0 where there is none.
using SocketNumbers = std::array<ino_t, 2>;
/// The socket pairs of polybox itself: to the zygote, and to the init of a cell that stays.
using OwnSockets = std::array<SocketNumbers, 2>;
SocketNumbers NumbersOf(const int (&sockets)[2]);

/// The unix sockets that a session may have left in its network namespace.
class Sockets {
 public:
  /// Opens the kernel's list and count of the sockets in the slot's present network namespace.
  /// `directory` (borrowed) is /proc/self/net.
  void Look(int directory);
  /// After a session: waits until the namespace has no unix socket except `ours`. Returns 0 or an
  /// errno. `waited` says whether there was any other socket at first.
  int AwaitNone(const OwnSockets& ours, bool& waited);

 private:
  bool HasOthers(const OwnSockets& ours);

  UniqueFd list_;
  UniqueFd count_;
  /// The count of all sockets at a time when the only unix sockets were `quiet_ours_`.
  std::string quiet_count_;
  OwnSockets quiet_ours_{};
};

}  // namespace polybox::jail::init
