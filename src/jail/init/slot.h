// The parts of a slot init. It is a small, single-threaded, static program that holds the
// namespaces of one slot and makes one pod after another in it, each for one guest. Nothing of it
// runs with more rights than the slot's user namespace gives.
//
//   root.cc     builds the slot's root file system from the plan
//   pod.cc      makes the fresh namespaces of a run ahead of time, and is their PID 1
//   guest.cc    is the process that waits in a pod and becomes the guest
//   egress.cc   opens the door to the egress proxy
//   scratch.cc  writes a run's files and empties the scratch space after it
//   main.cc     answers the server
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include <sys/types.h>

#include "jail/init/messages.h"
#include "jail/init/protocol.h"

namespace polybox::jail::init {

/// Inside every slot the guest has this uid and gid.
inline constexpr unsigned kGuestId = 65534;

/// A failure to report, or nothing: stage kExec with error 0 never happens.
struct StepResult {
  bool ok = true;
  Failed failed;

  static StepResult Failure(Stage stage, int error, int index = -1) {
    return {false, {stage, error, index}};
  }
};

// root.cc
/// `listener` becomes that of the plan's egress, if it has one: the caller's to close.
StepResult BuildRoot(const Setup& setup, const std::vector<int>& trees, int& listener);
/// Mounts the tmpfs of `operation` on its target, which must exist; 0 or errno.
int MountTmpfs(const Operation& operation, const std::string& target);

// egress.cc
/// Loopback up, and a listener there; 0 or errno.
int OpenEgress(int& listener);

// scratch.cc
StepResult WriteFiles(const Files& files, int content);
/// A scratch directory, and the time of its last change when it was made.
struct Scratch {
  Operation operation;
  timespec made{};
};

/// A directory below the working directory, or that itself; -1 and errno on failure. No link is
/// followed.
int OpenWorkDirectory(const std::string& name);

/// After the root is built.
void RememberScratch(std::vector<Scratch>& all);
/// Directories that were changed since they were made are made anew.
StepResult EmptyScratch(std::vector<Scratch>& all);
/// Gives the working directory and /tmp another size. What is in them already may be more: then the
/// size stays.
StepResult ResizeScratch(std::vector<Scratch>& all, const Resize& size);

/// What a pod is made with. The cgroup files are those of a NextPod message, borrowed.
struct PodOptions {
  const std::string& seccomp;
  const NextPod& next;
  const std::vector<int>& cgroups;
};

// guest.cc
/// The rest of a process's life, from just after its fork in the pod: gives up all that a guest may
/// not have, says that it is ready, and turns into the program that a Run message names.
[[noreturn]] void WaitAsGuest(int socket, const PodOptions& options);

// pod.cc
/// A PID and an IPC namespace with their own init and /proc, and a process that waits for its
/// program.
struct Pod {
  pid_t pid = -1;
  pid_t guest = -1;
  int pidfd = -1;
  int socket = -1;

  bool exists() const { return pid > 0; }
};

StepResult MakePod(const PodOptions& options, Pod& pod);
/// Kills all that is in it, reaps it and forgets it. Returns what all its processes used.
Ended EndPod(Pod& pod);

}  // namespace polybox::jail::init
