// The /proc of a cell. MountProc() runs in the cell's init, the other functions in the slot init,
// which sees the same mount.
#pragma once

#include <array>
#include <ctime>

namespace polybox::jail::init {

/// Mounts /proc for the calling cell init's PID namespace and covers the files that tell about the
/// host. Raw system calls only (raw.h). Returns 0 or an errno.
int MountProc();
/// Makes the mounted /proc read-only and hides what only root of the host may reach, for guests
/// that have ids of the host. Returns 0 or an errno.
int GuardProc();

/// The access times of /proc/self and /proc/thread-self, two links whose inodes live as long as the
/// mount. Each has the time when a process first followed it, and keeps that time for a day. A
/// changed time would tell a later guest about an earlier one.
class ProcLinks {
 public:
  /// Records the present access times.
  void Look();
  /// Follows the links, if no process has done so, while no guest runs. From the next tick of the
  /// clock after the mount on, no guest can change the times then.
  void Settle();
  /// Returns whether the access times are still the recorded ones.
  bool AreAsTheyWere() const;

 private:
  std::array<timespec, 2> followed_{};
  bool will_change_ = false;
};

/// Between two guests that see the same /proc: makes the kernel forget which files were looked at.
/// `links` has the recorded times, and is updated for the next guest. Returns false when the access
/// times tell of the last guest; the cell must then be ended.
bool ForgetLooksAtProc(ProcLinks& links);
/// Unmounts the /proc of a cell that has ended.
void UnmountProc();

}  // namespace polybox::jail::init
