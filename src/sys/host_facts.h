// What the kernel of this host lets us do, found by doing it in a child process that leaves nothing
// behind.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sys/cgroup_tree.h"

namespace polybox::sys {

/// A trial: 0 when it worked, else the errno it failed with.
struct Trial {
  int error = 0;

  bool ok() const { return error == 0; }
};

/// Each trial after `user` runs inside the new user namespace.
struct NamespaceTrials {
  Trial user;
  Trial mount;
  Trial pid;
  Trial net;
  Trial ipc;
  Trial uts;
  /// A fresh /proc in the new PID namespace; refused where a container masks parts of /proc.
  Trial fresh_proc;
  Trial tmpfs;
  Trial overlayfs;
  /// A read-only overlay of /usr, as a slot shows it: refused where /usr is on two overlays
  /// already.
  Trial tree_overlay;
};

struct CgroupFacts {
  std::vector<CgroupHierarchy> hierarchies;
  /// Controllers that a cgroup of ours could use, in alphabetical order.
  std::vector<std::string> writable;
  /// Why the others could not: controller to reason.
  std::map<std::string, std::string> refused;
};

struct HostFacts {
  std::string kernel;
  bool root = false;
  NamespaceTrials namespaces;
  /// Making a device node, which a container may forbid to root.
  Trial devices;
  Trial seccomp;
  /// 0 when the kernel has no Landlock or it is off.
  int landlock_abi = 0;
  CgroupFacts cgroups;
};

/// Takes a few milliseconds. Forks: the caller must be single-threaded.
HostFacts ProbeHost();

}  // namespace polybox::sys
