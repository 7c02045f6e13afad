#include "jail/plan.h"

#include <algorithm>

#include <fmt/format.h>
#include <sys/mount.h>

#include "jail/bare_plan.h"

namespace polybox::jail {
namespace {

using init::Operation;
using init::OperationKind;

constexpr std::uint64_t kPlain = MS_NOSUID | MS_NODEV;
// An access time would tell a later guest about an earlier one.
constexpr std::uint64_t kScratch = kPlain | MS_NOATIME;

// The root holds only mount points, a few small files, and copies of some of the host's files.
constexpr std::uint64_t kRootBytes = 4 << 20;
constexpr std::uint64_t kRootInodes = 4096;
// Enough for the semaphores and queues of Python's multiprocessing, which are kept there.
constexpr std::uint64_t kSharedMemoryBytes = 16 << 20;
constexpr std::uint64_t kSharedMemoryInodes = 1024;
// Several programs of a lease share it; browsers in tests want 64 MiB, which containers have too.
constexpr std::uint64_t kLeaseSharedMemoryBytes = 64 << 20;

// The targets of AddScratch(), as trees name them.
constexpr const char* kScratchDirectories[] = {"/sandbox", "/tmp", "/dev/shm"};

// Where the slot's own device nodes are mounted until each is bound to its place.
constexpr const char* kDeviceStage = "devices";

// The users, groups and hosts in the jail. No name here is the host's.
constexpr const char* kPasswd =
    "root:x:0:0:root:/root:/usr/sbin/nologin\nsandbox:x:65534:65534:sandbox:{}:/bin/sh\n";
constexpr const char* kGroup = "root:x:0:\nsandbox:x:65534:\n";
constexpr const char* kHosts = "127.0.0.1 localhost\n::1 localhost\n";
constexpr const char* kNsswitch = "passwd: files\ngroup: files\nhosts: files\n";

/// Returns `path` relative to the new root, as operations need it.
std::string Relative(const std::string& path) {
  return path.substr(path.find_first_not_of('/'));
}

bool IsInside(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

/// Returns the trees with parents before children, and without trees that a parent shows already.
std::vector<Tree> WithoutRepeats(std::vector<Tree> trees) {
  std::ranges::stable_sort(trees, {}, &Tree::target);
  std::vector<Tree> kept;
  for (Tree& tree : trees) {
    const bool shown = std::ranges::any_of(kept, [&](const Tree& parent) {
      return IsInside(tree.target, parent.target) && IsInside(tree.source, parent.source) &&
             tree.writable == parent.writable && tree.changes.empty() && parent.changes.empty() &&
             tree.target.substr(parent.target.size()) == tree.source.substr(parent.source.size());
    });
    if (!shown || tree.is_mount) kept.push_back(std::move(tree));
  }
  return kept;
}

Operation Make(OperationKind kind, std::string target = "", std::string source = "") {
  Operation operation;
  operation.kind = kind;
  operation.target = std::move(target);
  operation.source = std::move(source);
  return operation;
}

Operation SmallFile(const std::string& target, const std::string& content) {
  Operation operation = Make(OperationKind::kFile, target, content);
  operation.mode = 0644;
  return operation;
}

/// The options of a tmpfs for one of the scratch directories.
struct Scratch {
  const char* target;
  std::uint64_t flags;
  std::uint64_t bytes;
  std::uint64_t inodes;
  std::uint32_t mode;
};

Operation Tmpfs(const Scratch& scratch) {
  Operation operation = Make(OperationKind::kTmpfs, scratch.target);
  operation.flags = scratch.flags;
  operation.bytes = scratch.bytes;
  operation.inodes = scratch.inodes;
  operation.mode = scratch.mode;
  return operation;
}

/// Returns the operation that binds a tree with the host's own inodes. It is read-only, because
/// another guest could see a changed time. Writing to a device still works.
Operation Bind(const Tree& tree) {
  Operation bind = Make(OperationKind::kBind, Relative(tree.target), tree.source);
  bind.is_file = tree.is_file;
  bind.flags = IsDevice(tree) ? MS_NOSUID | MS_NOEXEC : kPlain;
  if (!tree.writable) bind.flags |= MS_RDONLY;
  return bind;
}

/// Returns whether guests of an earlier lease could have made the target of the tree.
bool IsInWritable(const Tree& tree, const std::vector<Tree>& trees) {
  return std::ranges::any_of(trees, [&](const Tree& outer) {
    return outer.writable && outer.target != tree.target && IsInside(tree.target, outer.target);
  });
}

/// Lets the operation bind `tree`, from a descriptor if the server opens the trees. Returns the
/// index of that descriptor, else -1.
std::int32_t HandIn(const Spec& spec, Tree tree, Plan& plan) {
  if (!spec.privileged || !spec.hands_in_trees) return -1;
  plan.trees.push_back(std::move(tree));
  return static_cast<std::int32_t>(plan.trees.size() - 1);
}

/// Adds the overlay that keeps what guests change in a tree.
void AddChanges(const Spec& spec, const Tree& tree, Operation& bind, Plan& plan) {
  if (tree.changes.empty()) return;
  bind.changes = tree.changes;
  bind.changes_tree = HandIn(spec,
                             {.source = tree.changes,
                              .target = tree.target,
                              .writable = true,
                              .owner = tree.changes_owner},
                             plan);
}

/// Adds one bind for each tree. Devices that the server makes anew are only collected here.
/// Returns the binds below a scratch directory, which must come after it.
std::vector<Operation> AddTrees(const Spec& spec, Plan& plan) {
  const bool handed_in = spec.privileged && spec.hands_in_trees;
  const std::vector<Tree> trees = WithoutRepeats(spec.trees);
  std::vector<Operation> late;
  for (const Tree& tree : trees) {
    const bool made = handed_in && spec.own_devices && IsDevice(tree);
    if (made) {
      plan.devices.push_back(tree.source);
      continue;
    }
    Operation bind = Bind(tree);
    bind.own = !IsDevice(tree) && !tree.writable;
    bind.in_writable = IsInWritable(tree, trees);
    bind.tree = HandIn(spec, tree, plan);
    AddChanges(spec, tree, bind, plan);
    const bool in_scratch = std::ranges::any_of(
        kScratchDirectories, [&](const char* path) { return IsInside(tree.target, path); });
    (in_scratch ? late : plan.operations).push_back(std::move(bind));
  }
  return late;
}

/// Adds the stage with the slot's own devices, and a bind for each. The server makes all devices in
/// one file system and sends its descriptor after the trees.
void AddOwnDevices(Plan& plan) {
  if (plan.devices.empty()) return;
  Operation stage = Make(OperationKind::kStage, kDeviceStage);
  stage.tree = static_cast<std::int32_t>(plan.trees.size());
  plan.operations.push_back(std::move(stage));
  for (const std::string& path : plan.devices) {
    const std::string node = kDeviceStage + path.substr(path.rfind('/'));
    plan.operations.push_back(Bind({.source = node, .target = path, .is_file = true}));
  }
}

void AddSmallFiles(const Spec& spec, Plan& plan) {
  plan.operations.push_back(SmallFile(".empty", ""));  // covers files of /proc
  plan.operations.push_back(SmallFile("etc/passwd", fmt::format(kPasswd, spec.home)));
  plan.operations.push_back(SmallFile("etc/group", kGroup));
  plan.operations.push_back(SmallFile("etc/hosts", kHosts));
  plan.operations.push_back(SmallFile("etc/nsswitch.conf", kNsswitch));
  plan.operations.push_back(SmallFile("etc/hostname", "sandbox\n"));
}

/// Adds the driver and the warm library of an interpreter that is started ahead. The library's
/// descriptor is the last one, after the trees and the devices.
void AddWarmStart(const Spec& spec, Plan& plan) {
  if (spec.warm.start.kind == init::WarmKind::kNone) return;
  plan.operations.push_back(SmallFile(Relative(spec.warm.file), spec.warm.program));
  Operation library = Make(OperationKind::kCopy, Relative(init::kWarmLibrary));
  library.tree = static_cast<std::int32_t>(plan.trees.size() + (plan.devices.empty() ? 0 : 1));
  library.mode = 0644;
  plan.operations.push_back(std::move(library));
  plan.warm_library = true;
}

void AddDevices(Plan& plan) {
  const std::pair<const char*, const char*> links[] = {{"dev/fd", "/proc/self/fd"},
                                                       {"dev/stdin", "/proc/self/fd/0"},
                                                       {"dev/stdout", "/proc/self/fd/1"},
                                                       {"dev/stderr", "/proc/self/fd/2"}};
  for (const auto& [target, source] : links) {
    plan.operations.push_back(Make(OperationKind::kSymlink, target, source));
  }
}

void AddScratch(const Spec& spec, Plan& plan) {
  const std::uint64_t bytes = spec.scratch.count();
  const std::uint64_t inodes = spec.scratch_inodes;
  // A compiled program is run from the working directory; nothing needs to be run from /tmp. In a
  // lease, tools like `go test` build there what they execute.
  const std::uint64_t no_exec = spec.for_lease ? 0 : MS_NOEXEC;
  plan.operations.push_back(Tmpfs({"sandbox", kScratch, bytes, inodes, 0755}));
  plan.operations.push_back(Tmpfs({"tmp", kScratch | no_exec, bytes, inodes, 01777}));
  const std::uint64_t shared = spec.for_lease ? kLeaseSharedMemoryBytes : kSharedMemoryBytes;
  plan.operations.push_back(
      Tmpfs({"dev/shm", kScratch | MS_NOEXEC, shared, kSharedMemoryInodes, 01777}));
}

/// The parts that processes which run at the same time need.
void AddForLease(const Spec& spec, Plan& plan) {
  if (!spec.egress) plan.operations.push_back(Make(OperationKind::kLoopback));
  Operation terminals = Make(OperationKind::kTerminals, "dev/pts");
  terminals.flags = MS_NOSUID | MS_NOEXEC;
  plan.operations.push_back(std::move(terminals));
  plan.operations.push_back(Make(OperationKind::kSymlink, "dev/ptmx", "pts/ptmx"));
}

}  // namespace

/// The order matters: the pivot unmounts the old root, and the root is made read-only last.
Plan MakePlan(const Spec& spec) {
  if (!HasNamespaces(spec.grade)) return MakeBarePlan(spec);
  Plan plan;
  Operation root = Make(OperationKind::kRoot);
  root.bytes = kRootBytes;
  root.inodes = kRootInodes;
  plan.operations.push_back(std::move(root));
  plan.operations.push_back(Make(OperationKind::kKeepProc, ".kept"));
  plan.operations.push_back(Make(OperationKind::kDirectory, "proc"));
  const std::vector<Operation> late = AddTrees(spec, plan);
  AddOwnDevices(plan);
  for (const auto& [target, source] : spec.symlinks) {
    plan.operations.push_back(Make(OperationKind::kSymlink, Relative(target), source));
  }
  AddSmallFiles(spec, plan);
  AddWarmStart(spec, plan);
  AddDevices(plan);
  AddScratch(spec, plan);
  plan.operations.insert(plan.operations.end(), late.begin(), late.end());
  plan.operations.push_back(Make(OperationKind::kHostName, "", "sandbox"));
  if (spec.egress) plan.operations.push_back(Make(OperationKind::kEgress));
  if (spec.for_lease) AddForLease(spec, plan);
  plan.operations.push_back(Make(OperationKind::kPivot));
  plan.operations.push_back(Make(OperationKind::kReadOnlyRoot));
  return plan;
}

namespace {

/// Returns how a kBind operation shows its tree.
std::string How(const Operation& operation) {
  if (!operation.changes.empty()) return ", changes in " + operation.changes;
  if (!operation.own) return "";
  return operation.is_file ? ", copied" : ", through an overlay";
}

}  // namespace

std::string Describe(const Operation& operation) {
  const char* read_only = (operation.flags & MS_RDONLY) != 0 ? "read-only " : "";
  const char* no_exec = (operation.flags & MS_NOEXEC) != 0 ? "noexec " : "";
  switch (operation.kind) {
    case OperationKind::kRoot:
      return "new root";
    case OperationKind::kDirectory:
      return fmt::format("directory /{}", operation.target);
    case OperationKind::kSymlink:
      return fmt::format("link /{} -> {}", operation.target, operation.source);
    case OperationKind::kFile:
      return fmt::format("file /{}", operation.target);
    case OperationKind::kBind:
      return fmt::format("show {}{}/{} from {}{}{}", read_only, no_exec, operation.target,
                         operation.source, operation.tree < 0 ? "" : " by descriptor",
                         How(operation));
    case OperationKind::kTmpfs:
      return fmt::format("scratch {}/{} {} {} inodes mode {:o}", no_exec, operation.target,
                         FormatBytes(Bytes(operation.bytes)), operation.inodes, operation.mode);
    case OperationKind::kKeepProc:
      return fmt::format("keep the host's /proc, covered, at /{}", operation.target);
    case OperationKind::kPivot:
      return "pivot";
    case OperationKind::kReadOnlyRoot:
      return "root read-only";
    case OperationKind::kHostName:
      return fmt::format("host name {}", operation.source);
    case OperationKind::kEgress:
      return "loopback with the egress listener";
    case OperationKind::kStage:
      return fmt::format("stage {} of its own", operation.target);
    case OperationKind::kCopy:
      return fmt::format("copy /{}", operation.target);
    case OperationKind::kLoopback:
      return "loopback";
    case OperationKind::kTerminals:
      return fmt::format("terminals at /{}", operation.target);
  }
  return "unknown";
}

std::string Describe(const Plan& plan) {
  std::string text;
  for (const Operation& operation : plan.operations) text += Describe(operation) + "\n";
  for (const init::PathRule& rule : plan.rules) {
    text += fmt::format("allow {}: {}\n", rule.path, DescribeRights(rule.rights));
  }
  return text;
}

}  // namespace polybox::jail
