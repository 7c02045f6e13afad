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
// When something was last read tells a later guest about an earlier one.
constexpr std::uint64_t kScratch = kPlain | MS_NOATIME;

// The root only holds mount points, a few small files, and copies of some of the host's.
constexpr std::uint64_t kRootBytes = 4 << 20;
constexpr std::uint64_t kRootInodes = 4096;
// Enough for the semaphores and queues of multiprocessing, which live there.
constexpr std::uint64_t kSharedMemoryBytes = 16 << 20;
constexpr std::uint64_t kSharedMemoryInodes = 1024;

// Where the slot's own device nodes are until each is in its place.
constexpr const char* kDeviceStage = "devices";

// Who is who in the jail. No name here is the host's.
constexpr const char* kPasswd =
    "root:x:0:0:root:/root:/usr/sbin/nologin\nsandbox:x:65534:65534:sandbox:/sandbox:/bin/sh\n";
constexpr const char* kGroup = "root:x:0:\nsandbox:x:65534:\n";
constexpr const char* kHosts = "127.0.0.1 localhost\n::1 localhost\n";
constexpr const char* kNsswitch = "passwd: files\ngroup: files\nhosts: files\n";

/// Paths in operations are relative to the new root.
std::string Relative(const std::string& path) {
  return path.substr(path.find_first_not_of('/'));
}

bool IsInside(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

/// Parents before children, and without those that a parent shows already.
std::vector<Tree> WithoutRepeats(std::vector<Tree> trees) {
  std::ranges::stable_sort(trees, {}, &Tree::target);
  std::vector<Tree> kept;
  for (Tree& tree : trees) {
    const bool shown = std::ranges::any_of(kept, [&](const Tree& parent) {
      return IsInside(tree.target, parent.target) && IsInside(tree.source, parent.source) &&
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

/// The host's own inode. Read-only: its times would be a word to other guests. Writing to a device
/// still works.
Operation Bind(const Tree& tree) {
  Operation bind = Make(OperationKind::kBind, Relative(tree.target), tree.source);
  bind.is_file = tree.is_file;
  bind.flags = IsDevice(tree) ? MS_NOSUID | MS_NOEXEC : kPlain;
  if (!tree.writable) bind.flags |= MS_RDONLY;
  return bind;
}

void AddTrees(const Spec& spec, Plan& plan) {
  for (const Tree& tree : WithoutRepeats(spec.trees)) {
    const bool made = spec.privileged && spec.own_devices && IsDevice(tree);
    if (made) {
      plan.devices.push_back(tree.source);
      continue;
    }
    Operation bind = Bind(tree);
    bind.own = !IsDevice(tree) && !tree.writable;
    if (spec.privileged) {
      bind.tree = static_cast<std::int32_t>(plan.trees.size());
      plan.trees.push_back(tree);
    }
    plan.operations.push_back(std::move(bind));
  }
}

void AddOwnDevices(Plan& plan) {
  if (plan.devices.empty()) return;
  Operation stage = Make(OperationKind::kStage, kDeviceStage);
  stage.tree = static_cast<std::int32_t>(plan.trees.size());
  plan.operations.push_back(std::move(stage));
  for (const std::string& path : plan.devices) {
    const std::string node = kDeviceStage + path.substr(path.rfind('/'));
    plan.operations.push_back(Bind({node, path, true, false}));
  }
}

void AddSmallFiles(Plan& plan) {
  plan.operations.push_back(SmallFile(".empty", ""));  // what covers a file of /proc
  plan.operations.push_back(SmallFile("etc/passwd", kPasswd));
  plan.operations.push_back(SmallFile("etc/group", kGroup));
  plan.operations.push_back(SmallFile("etc/hosts", kHosts));
  plan.operations.push_back(SmallFile("etc/nsswitch.conf", kNsswitch));
  plan.operations.push_back(SmallFile("etc/hostname", "sandbox\n"));
}

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
  // A compiled program is run from the working directory; nothing needs to be run from /tmp.
  plan.operations.push_back(Tmpfs({"sandbox", kScratch, bytes, inodes, 0755}));
  plan.operations.push_back(Tmpfs({"tmp", kScratch | MS_NOEXEC, bytes, inodes, 01777}));
  plan.operations.push_back(
      Tmpfs({"dev/shm", kScratch | MS_NOEXEC, kSharedMemoryBytes, kSharedMemoryInodes, 01777}));
}

}  // namespace

Plan MakePlan(const Spec& spec) {
  if (!HasNamespaces(spec.grade)) return MakeBarePlan(spec);
  Plan plan;
  Operation root = Make(OperationKind::kRoot);
  root.bytes = kRootBytes;
  root.inodes = kRootInodes;
  plan.operations.push_back(std::move(root));
  plan.operations.push_back(Make(OperationKind::kKeepProc, ".kept"));
  plan.operations.push_back(Make(OperationKind::kDirectory, "proc"));
  AddTrees(spec, plan);
  AddOwnDevices(plan);
  for (const auto& [target, source] : spec.symlinks) {
    plan.operations.push_back(Make(OperationKind::kSymlink, Relative(target), source));
  }
  AddSmallFiles(plan);
  AddWarmStart(spec, plan);
  AddDevices(plan);
  AddScratch(spec, plan);
  plan.operations.push_back(Make(OperationKind::kHostName, "", "sandbox"));
  if (spec.egress) plan.operations.push_back(Make(OperationKind::kEgress));
  plan.operations.push_back(Make(OperationKind::kPivot));
  plan.operations.push_back(Make(OperationKind::kReadOnlyRoot));
  return plan;
}

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
                         !operation.own      ? ""
                         : operation.is_file ? ", copied"
                                             : ", through an overlay");
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
