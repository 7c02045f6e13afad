// Finds out what the kernel of this host lets polybox do. Each trial makes the real system calls in
// a child process that leaves nothing behind.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sys/cgroup_tree.h"

namespace polybox::sys {

/// The result of a trial: 0 when it worked, else the errno of the failed call.
struct Trial {
  int error = 0;

  bool ok() const { return error == 0; }
};

/// Each trial after `id_map` runs inside the new user namespace.
struct NamespaceTrials {
  Trial user;
  /// Mapping ids in the user namespace: the ids for guests if the host has them, else polybox's own
  /// ids.
  Trial id_map;
  Trial mount;
  Trial pid;
  Trial net;
  Trial ipc;
  Trial uts;
  /// Setting the host name in the namespace, which seccomp profiles of containers refuse.
  Trial host_name;
  /// Mounting a fresh /proc in the new PID namespace, which the kernel refuses where a container
  /// masks parts of /proc.
  Trial fresh_proc;
  Trial tmpfs;
  /// Mounting a read-only overlay of /usr, as a slot does. The kernel refuses this where /usr is on
  /// two overlays already.
  Trial tree_overlay;
};

struct CgroupFacts {
  std::vector<CgroupHierarchy> hierarchies;
  /// Controllers that a cgroup of polybox could use, in alphabetical order.
  std::vector<std::string> writable;
  /// For each other controller, the reason why polybox cannot use it.
  std::map<std::string, std::string> refused;
};

struct HostFacts {
  std::string kernel;
  bool root = false;
  /// The number of uids in polybox's user namespace.
  std::uint64_t uids = 0;
  /// Becoming one of the uids for guests (sys/own_ids.h) and giving a file to that uid. ERANGE when
  /// there are too few uids.
  Trial own_uids;
  /// Capabilities that polybox lacks and needs for guests with other uids, such as "CAP_CHOWN".
  std::vector<std::string> missing_capabilities;
  NamespaceTrials namespaces;
  /// Making a device node, which a container may forbid even to root.
  Trial devices;
  Trial seccomp;
  /// Calling clone3, which seccomp profiles of containers refuse.
  Trial clone3;
  /// Making orphaned processes children of a polybox process (PR_SET_CHILD_SUBREAPER).
  Trial subreaper;
  /// The directory for temporary files if its mount is noexec, else "".
  std::string noexec_directory;
  /// The Landlock ABI version; 0 when the kernel has no Landlock or Landlock is off.
  int landlock_abi = 0;
  CgroupFacts cgroups;
};

/// Makes all trials in forked children, which takes a few milliseconds. Any thread may call it.
HostFacts ProbeHost();

}  // namespace polybox::sys
