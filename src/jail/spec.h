// What a slot shows to its guests: plain data, from which plan.h makes the steps that build the
// slot.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "jail/grade.h"
#include "jail/init/protocol.h"
#include "sys/cgroup.h"

namespace polybox::jail {

// The parts of the slot init's protocol that code outside of the jail needs.
using init::FileHeader;
using init::kEgressPort;
using init::kLargestMessage;
using init::kWarmDirectory;
using init::WarmKind;
using init::WarmStart;

/// The guest's working directory and home.
inline constexpr const char* kWorkDirectory = "/sandbox";
/// The directory in the jail where the package set of a language is mounted.
inline constexpr const char* kPackagesDirectory = "/packages";

/// The directory in the jail where a compile step finds the files that were prepared for its
/// compiler.
inline constexpr const char* kPreparedDirectory = "/prepared";

/// The paths at which a guest finds its directories.
struct Places {
  std::string work = kWorkDirectory;
  std::string tmp = "/tmp";
  std::string packages = kPackagesDirectory;
};

/// A user and a group of the host.
struct HostIds {
  unsigned uid = 0;
  unsigned gid = 0;

  bool operator==(const HostIds&) const = default;
};

/// A directory or file of the host that guests see; read-only unless `writable` is set.
struct Tree {
  std::string source;
  /// Absolute, as the guest sees it.
  std::string target;
  bool is_file = false;
  /// A mount below another tree. The mount of the outer tree does not include it.
  bool is_mount = false;
  /// Mounted with the host's own inodes and writable: a directory that outlives its guests.
  bool writable = false;
  /// The owner on disk of the files that guests see as their own (MapOwner() in trees.h). Their new
  /// files belong to it too. Only where the server opens the trees.
  std::optional<HostIds> owner = {};
  /// A directory of the host with the directories `upper` and `work`, where an overlay keeps what
  /// guests change in the tree; "" for none. The kernel may refuse the overlay: then the tree is
  /// shown read-only, and BuiltSlot::shared() says so.
  std::string changes = {};
  /// As `owner`, for the directory of changes.
  std::optional<HostIds> changes_owner = {};

  bool operator==(const Tree&) const = default;
};

/// An interpreter that is started ahead of its program.
struct Warm {
  init::WarmStart start;
  /// `file` is the path in the jail of the driver: a program in the interpreter's own language that
  /// drives the interpreter (warm/warm.h). `program` is the driver's text.
  std::string file;
  std::string program;
  /// The limits of the waiting interpreter, where there are cgroups. They equal the default limits
  /// of its programs.
  sys::CgroupLimits limits = {};
};

struct Spec {
  /// Below kRootless there are no namespaces: guests see the host's file tree, as far as Landlock
  /// allows it.
  Grade grade = Grade::kFull;
  /// Whether guests get host uids of their own. Otherwise guests have the uid of polybox without
  /// any capabilities, and the slot init binds the paths that this uid can see.
  bool privileged = true;
  /// The host uid of the guests where it must be the owner of a writable tree instead of the slot's
  /// own uid. Only guests have it. Only with `privileged`.
  std::optional<unsigned> guest_uid;
  /// A user of the host whose ids the guests have. Other programs may have them too. Only with
  /// `privileged`.
  std::optional<HostIds> user;
  std::vector<Tree> trees;
  /// Whether the server opens the trees and sends their descriptors; only with `privileged`.
  /// Otherwise the slot init binds the paths that its own uid can see.
  bool hands_in_trees = true;
  /// Whether the server makes new device nodes instead of showing the host's nodes. Only with
  /// `hands_in_trees`.
  bool own_devices = true;
  /// From an absolute path to the target of the link: /bin to usr/bin.
  std::map<std::string, std::string> symlinks;
  /// Whether the loopback interface is up, with a listener on its port init::kEgressPort.
  /// Slot::TakeEgress() returns that listener. It is the only way out of the jail.
  bool egress = false;
  /// For a Lease: the loopback interface is up, there are terminals (/dev/ptmx), and programs in
  /// /tmp can be executed.
  bool for_lease = false;
  /// The home of the guests in /etc/passwd.
  std::string home = kWorkDirectory;
  /// The size of the working directory, /tmp and /dev/shm each.
  Bytes scratch = Bytes::MiB(64);
  std::uint64_t scratch_inodes = 32768;
  /// Only where there are namespaces; `warm.start.kind` kNone means that nothing is started ahead.
  Warm warm = {};
};

/// Returns the trees and links that every guest needs to run programs of this host. These are /usr
/// with its links, the loader's cache, certificates, time zones, a few devices. Reads the host's
/// file system.
Spec HostSpec();

/// Returns the paths at which the guests of a slot find their directories. `home` is the slot's
/// directory in grades without namespaces, and unused in the others.
Places PlacesIn(const Spec& spec, const std::string& home);
bool IsDevice(const Tree& tree);

/// Shows `path` of the host at the same path in the jail, if it exists; `*` matches within one path
/// component.
void ShowPath(Spec& spec, const std::string& path);

}  // namespace polybox::jail
