// An interpreter that has started already, from which guests are forked. Used by the slot init on
// its one thread.
#pragma once

#include <sys/types.h>

#include "base/unique_fd.h"
#include "jail/init/netlink.h"
#include "jail/init/sockets.h"
#include "jail/init/warm_command.h"

namespace polybox::jail::init {

/// Makes the capabilities inheritable that a zygote gets. Call it before the bounding set is
/// dropped. Returns 0 or an errno.
int KeepForZygote();

class Zygote {
 public:
  /// Opens the host's /proc, from which zygotes are told about themselves. Call it once, before
  /// /proc is covered.
  void KeepProc();
  /// Between two sessions: starts a zygote if there is none, and waits until it is ready. At other
  /// times it starts none. Returns whether a zygote is ready.
  bool Prepare(const WarmCommand& warm, bool between_sessions, RouteSockets& route_sockets);
  /// Returns whether the zygote must move to newer namespaces, and records that the zygote will be
  /// in them. `renewals` counts how often namespaces were replaced.
  bool MovesTo(int renewals);
  /// Borrowed: the socket to which a Fork message is sent.
  int socket() const { return socket_.get(); }
  const SocketNumbers& socket_numbers() const { return socket_numbers_; }
  /// -1 when there is no zygote.
  pid_t pid() const { return pid_; }
  /// Kills the zygote. Call it when the zygote did not fork a guest.
  void Stop();

 private:
  /// Forks the zygote. Returns false on failure.
  bool Start(const WarmCommand& warm);
  void AwaitReady(RouteSockets& route_sockets);

  UniqueFd proc_;
  pid_t pid_ = -1;
  UniqueFd socket_;
  SocketNumbers socket_numbers_{};
  bool ready_ = false;
  /// The number of guests forked so far.
  int forks_ = 0;
  /// How often the slot had replaced its namespaces when the zygote last entered them; -1 when the
  /// zygote has not entered any yet.
  int namespaces_ = -1;
  /// The number of starts in a row that failed.
  int failures_ = 0;
};

}  // namespace polybox::jail::init
