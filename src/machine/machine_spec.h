// What the jail of a workspace shows, and the environment of its commands. Pure functions: all
// facts about the host are in MachineParts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "jail/spec.h"
#include "limits/limits.h"
#include "machine/identity.h"
#include "machine/shown_paths.h"
#include "sys/cgroup.h"

namespace polybox::machine {

/// A package cache of the user that commands can use.
struct ShownCache {
  /// On the host, without links.
  std::string source;
  /// Where commands find it, below their home.
  std::string target;
  /// Where an overlay keeps what commands change in it; "" to show it read-only.
  std::string changes = {};
  /// The user on disk whose files commands see as their own, if the commands need an id-mapped
  /// mount for that and the file system allows one.
  std::optional<jail::HostIds> owner = {};
};

/// Limits of the commands of a workspace (settings `workspace-memory` and so on).
struct MachineLimits {
  /// Of all commands together, and of each where there are no cgroups. A linker of a large program
  /// takes 2 GiB, and a language server may run beside it.
  Bytes memory = Bytes::MiB(4096);
  /// `npm install` and the go command start hundreds of threads, and dev servers run beside them.
  std::int64_t processes = 4096;
  /// Of /tmp, which is in memory. `go build` of a large project writes 1 GiB there.
  Bytes scratch = Bytes::MiB(2048);
};

struct MachineParts {
  jail::Grade grade = jail::Grade::kFull;
  Identity identity = Identity::kServer;
  /// Without links.
  std::string workspace;
  workspace::Owner owner = {};
  /// The directory on the host that is the home; "" if there is none that commands can write. The
  /// scratch directory is then the home.
  std::string home = {};
  ShownPaths shown = {};
  /// The root of the interpreter of a virtual environment; "" for none.
  std::string venv_root = {};
  std::vector<ShownCache> caches = {};
  /// A file with the user's name for git; "" for none.
  std::string git_config = {};
  /// Further paths that tools of the languages need; `*` matches within one component.
  std::vector<std::string> read_only = {};
  MachineLimits limits = {};
};

/// Adds the workspace and all that its commands need to `system`, which is jail::HostSpec().
jail::Spec SpecOf(jail::Spec system, const MachineParts& parts);

/// Returns the variables of every command. `places` are those of the lease.
std::map<std::string, std::string> EnvironmentOf(const MachineParts& parts,
                                                 const jail::Places& places);

/// Returns the limits of one command, without the wall time.
limits::RunLimits CommandLimits(const MachineLimits& limits);
/// Returns the limits of all commands together.
sys::CgroupLimits LeaseLimits(const MachineLimits& limits);

}  // namespace polybox::machine
