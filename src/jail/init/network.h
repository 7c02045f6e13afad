// The network namespace of a slot. It is made anew when a guest has changed it, since the kernel's
// counters keep the traces of a guest. Used by the slot init on its one thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "jail/init/reuse.h"
#include "jail/init/sockets.h"

namespace polybox::jail::init {

class Network {
 public:
  /// Makes the first namespace. Call it while /proc is still the host's. Returns 0 or an errno.
  int Open();
  /// Brings the loopback interface up with a listener on it. Returns 0 or an errno.
  int OpenEgress();
  /// Returns the listener that was opened last. Returns no descriptor when there is none, or when
  /// an earlier call took the listener.
  UniqueFd TakeEgress() { return std::move(listener_); }
  /// Between two sessions: makes a new namespace, unless `reuse` keeps the old one. With egress
  /// there is a new listener as well. Returns 0 or an errno.
  int Renew(const Reuse& reuse);
  int renewals() const { return renewals_; }
  Sockets& sockets() { return sockets_; }
  /// Borrowed: /proc/self/net, which shows the present namespace.
  int directory() const { return directory_.get(); }

 private:
  void Look();
  std::string Read() const;

  UniqueFd directory_;
  std::vector<UniqueFd> counters_;
  Sockets sockets_;
  std::string unused_;
  bool has_egress_ = false;
  UniqueFd listener_;
  int renewals_ = 0;
};

}  // namespace polybox::jail::init
