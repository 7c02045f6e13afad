#include "machine/machine_spec.h"

#include <algorithm>
#include <limits>

namespace polybox::machine {
namespace {

using jail::Tree;

/// As a resource limit, this value is none (RLIM_INFINITY).
constexpr Bytes kNoLimit{std::numeric_limits<std::uint64_t>::max()};

bool IsInside(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

/// Returns whether the spec shows the host's `path` at the same path: in a tree, or behind a link
/// of the root directory (/lib to usr/lib).
bool IsShown(const jail::Spec& spec, const std::string& path) {
  const auto is_behind = [&](const auto& link) { return IsInside(path, link.first); };
  if (std::ranges::any_of(spec.symlinks, is_behind)) return true;
  return std::ranges::any_of(spec.trees, [&](const Tree& tree) {
    return tree.source == tree.target && IsInside(path, tree.target);
  });
}

void ShowReadOnly(jail::Spec& spec, Tree tree) {
  if (!IsShown(spec, tree.target)) spec.trees.push_back(std::move(tree));
}

/// Shows the directories of PATH and of toolchains. Outer directories come first, so that none is
/// shown twice.
void AddShownPaths(const MachineParts& parts, jail::Spec& spec) {
  std::vector<std::string> directories = parts.shown.directories;
  if (!parts.venv_root.empty()) directories.push_back(parts.venv_root);
  std::ranges::sort(directories);
  for (const std::string& directory : directories) {
    ShowReadOnly(spec, {.source = directory, .target = directory});
  }
  for (const std::string& file : parts.shown.files) {
    ShowReadOnly(spec, {.source = file, .target = file, .is_file = true});
  }
  for (const auto& [link, directory] : parts.shown.links) {
    // Without namespaces the host's own link is there.
    if (!jail::HasNamespaces(parts.grade)) continue;
    ShowReadOnly(spec, {.source = directory, .target = link});
  }
  for (const std::string& path : parts.read_only) jail::ShowPath(spec, path);
}

void AddCaches(const MachineParts& parts, const std::optional<jail::HostIds>& owner,
               jail::Spec& spec) {
  const bool has_namespaces = jail::HasNamespaces(parts.grade);
  for (const ShownCache& cache : parts.caches) {
    Tree tree;
    tree.source = cache.source;
    tree.target = has_namespaces ? cache.target : cache.source;
    if (has_namespaces) tree.changes = cache.changes;
    tree.owner = cache.owner;
    if (!tree.changes.empty()) tree.changes_owner = owner;
    spec.trees.push_back(std::move(tree));
  }
}

}  // namespace

jail::Spec SpecOf(jail::Spec system, const MachineParts& parts) {
  jail::Spec spec = std::move(system);
  spec.grade = parts.grade;
  spec.scratch = parts.limits.scratch;
  // A tenth of what a file system of that size usually has; packages have many small files.
  constexpr std::uint64_t kBytesPerInode = 8 * 1024;
  spec.scratch_inodes = parts.limits.scratch.count() / kBytesPerInode;
  AddShownPaths(parts, spec);
  const jail::HostIds ids = {parts.owner.uid, parts.owner.gid};
  std::optional<jail::HostIds> owner;
  if (parts.identity == Identity::kMapped) owner = ids;
  if (parts.identity == Identity::kOwner) spec.user = ids;
  for (const std::string& writable : {parts.workspace, parts.home}) {
    if (writable.empty()) continue;
    spec.trees.push_back(
        {.source = writable, .target = writable, .writable = true, .owner = owner});
  }
  if (!parts.home.empty()) spec.home = parts.home;
  AddCaches(parts, owner, spec);
  if (!parts.git_config.empty()) {
    spec.trees.push_back({.source = parts.git_config, .target = parts.git_config, .is_file = true});
  }
  return spec;
}

std::map<std::string, std::string> EnvironmentOf(const MachineParts& parts,
                                                 const jail::Places& places) {
  std::map<std::string, std::string> env = {
      {"PATH", parts.shown.path},
      {"HOME", parts.home.empty() ? places.work : parts.home},
      {"TMPDIR", places.tmp},
      {"USER", "sandbox"},
      {"LOGNAME", "sandbox"},
      {"SHELL", "/bin/sh"},
      // Every C library of the last years has this locale without any file.
      {"LANG", "C.UTF-8"},
      {"TERM", "dumb"},
  };
  // The lowest of git's levels: the configuration of the repository and of the home come after it.
  if (!parts.git_config.empty()) env["GIT_CONFIG_SYSTEM"] = parts.git_config;
  return env;
}

limits::RunLimits CommandLimits(const MachineLimits& limits) {
  limits::RunLimits command;
  command.wall_time = {};
  // Builds and servers run as long as they are wanted.
  command.cpu_time = {};
  command.cpu_per_second = std::chrono::seconds(64);
  command.memory = limits.memory;
  command.processes = limits.processes;
  // Runtimes reserve far more addresses than they use: node and the JVM hundreds of gigabytes.
  command.address_space = kNoLimit;
  // The disk is the owner's; a database or an image may be large.
  command.file_size = kNoLimit;
  // Bundlers and test runners watch and read thousands of files at once.
  command.open_files = 65536;
  return command;
}

sys::CgroupLimits LeaseLimits(const MachineLimits& limits) {
  return {.memory = limits.memory,
          .swap = Bytes(),
          .processes = limits.processes,
          .cpu_per_second = std::chrono::seconds(64)};
}

}  // namespace polybox::machine
