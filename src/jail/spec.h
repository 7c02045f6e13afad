// What a slot shows to its guests: plain data, from which plan.h makes the steps that build it.
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

/// The guest's working directory and home.
inline constexpr const char* kWorkDirectory = "/sandbox";
/// Where the package set of a language is shown.
inline constexpr const char* kPackagesDirectory = "/packages";

/// Where compilers find what was made ready for them.
inline constexpr const char* kPreparedDirectory = "/prepared";

/// Where a guest finds things.
struct Places {
  std::string work = kWorkDirectory;
  std::string tmp = "/tmp";
  std::string packages = kPackagesDirectory;
};

/// A directory or file of the host that guests see, read-only unless it says otherwise.
struct Tree {
  std::string source;
  /// Absolute, as the guest sees it.
  std::string target;
  bool is_file = false;
  /// Mounted below another tree, which does not show it.
  bool is_mount = false;
  /// Shown as it is, with the host's own inodes: a directory that outlives its guests.
  bool writable = false;

  bool operator==(const Tree&) const = default;
};

/// An interpreter that is started ahead of its program.
struct Warm {
  init::WarmStart start;
  /// Where it finds the lines in its own language that drive it (warm/warm.h), and those.
  std::string file;
  std::string program;
  /// What it may use while it waits, where there are cgroups: what its programs may, unless they
  /// are told otherwise.
  sys::CgroupLimits limits = {};
};

struct Spec {
  /// Below kRootless there are no namespaces: guests see the host's tree, as far as Landlock lets
  /// them.
  Grade grade = Grade::kFull;
  /// Made by root: trees are opened by the server and handed in, and guests get host uids of their
  /// own. Otherwise the slot init binds what our own uid can see, and guests are that uid without
  /// any rights.
  bool privileged = true;
  /// The host uid of the guests where it must not be the slot's own: that of a writable tree's
  /// owner. Only if privileged.
  std::optional<unsigned> guest_uid;
  std::vector<Tree> trees;
  /// Device nodes are made by the server instead of being the host's; only if privileged.
  bool own_devices = true;
  /// Absolute path to what it points to: /bin to usr/bin.
  std::map<std::string, std::string> symlinks;
  /// Loopback is up, and on its port init::kEgressPort listens what Slot::TakeEgress() hands out:
  /// the only way out there can be.
  bool egress = false;
  /// The working directory, /tmp and /dev/shm each.
  Bytes scratch = Bytes::MiB(64);
  std::uint64_t scratch_inodes = 32768;
  /// Only where there are namespaces; nothing without a kind.
  Warm warm = {};
};

/// The trees and links that every guest needs to run programs of this host: /usr with its links,
/// the loader's cache, certificates, time zones, a few devices. Looks at the host.
Spec HostSpec();

/// Where the guests of a slot find things; `home` is the slot's directory where there are no
/// namespaces.
Places PlacesIn(const Spec& spec, const std::string& home);
bool IsDevice(const Tree& tree);

/// Adds `path` of the host at the same place, if it exists; `*` matches within one component.
void ShowPath(Spec& spec, const std::string& path);

}  // namespace polybox::jail
