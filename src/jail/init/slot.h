// The parts of a slot init. It is a small, single-threaded, static program that holds the
// namespaces of one slot and starts one guest after another in it. Nothing of it runs with more
// rights than the slot's user namespace gives.
//
//   root.cc         builds the slot's root file system from the plan
//   pod.cc          makes the fresh namespaces of a run, ahead of time, and starts the guest in
//   them scratch.cc      writes a run's files and empties the scratch space after it bare_slot.cc
//   the same for a slot without namespaces: directories of the host, Landlock end_tree.cc     ends
//   all descendants where no PID namespace does main.cc         answers the server
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include <sys/types.h>

#include "jail/init/messages.h"
#include "jail/init/protocol.h"

namespace polybox::jail::init {

/// Inside every slot with namespaces the guest has this uid and gid.
inline constexpr unsigned kGuestId = 65534;

struct Ids {
  unsigned uid = kGuestId;
  unsigned gid = kGuestId;
};
/// Who the guests are. Changed once, when a slot without namespaces is set up.
inline Ids guest_ids;

/// A failure to report, or nothing: stage kExec with error 0 never happens.
struct StepResult {
  bool ok = true;
  Failed failed;

  static StepResult Failure(Stage stage, int error, int index = -1) {
    return {false, {stage, error, index}};
  }
};

// root.cc
StepResult BuildRoot(const Setup& setup, const std::vector<int>& trees);
/// Mounts the tmpfs of `operation` on its target, which must exist; 0 or errno.
int MountTmpfs(const Operation& operation, const std::string& target);

// scratch.cc
StepResult WriteFiles(const Files& files, int content);
/// A scratch directory, and the time of its last change when it was made.
struct Scratch {
  Operation operation;
  timespec made{};
};

/// After the root is built.
void RememberScratch(std::vector<Scratch>& all);
/// Directories that were changed since they were made are made anew.
StepResult EmptyScratch(std::vector<Scratch>& all);
/// Gives the working directory and /tmp the size that `run` may use. What is in them already may be
/// more: then the size stays.
StepResult ResizeScratch(std::vector<Scratch>& all, const Run& run);

// pod.cc
/// A PID and an IPC namespace with their own init and /proc, waiting for a guest.
struct Pod {
  pid_t pid = -1;
  int pidfd = -1;
  int socket = -1;

  bool exists() const { return pid > 0; }
};

/// What is put on a guest before it starts.
struct Guest {
  const std::string& seccomp;
  bool in_namespaces = true;
  /// Borrowed; -1 for no Landlock.
  int ruleset = -1;
  bool closed_trees = false;
  /// Processes and threads that our uid has anyway.
  std::uint64_t tasks_beside = 0;
};

/// Starts the guest of a Run message and becomes its init. What went wrong before exec is reported
/// instead of an end.
[[noreturn]] void RunGuest(const Received& received, int socket, const Guest& settings);

StepResult MakePod(const std::string& seccomp, Pod& pod);
/// Kills all that is in it, reaps it and forgets it. The usage of all its processes goes to
/// `ended`, if given.
void EndPod(Pod& pod, Ended* ended);

}  // namespace polybox::jail::init
