#include "exec/command.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/files.h"
#include "launch/launch.h"
#include "sys/command.h"
#include "sys/own_ids.h"

namespace polybox::exec {
namespace {

// The path that is used if the configured one is not possible. Agents look there first.
constexpr const char* kElsewhere = "/app";
constexpr const char* kTaken[] = {"/bin",  "/dev",     "/etc",  "/lib", "/lib64",
                                  "/proc", "/sandbox", "/sbin", "/tmp", "/usr"};

/// Returns the PATH of commands: the directories of all toolchains, then those of the host.
std::string SearchPathOf(const Catalog& catalog) {
  std::string path;
  for (const launch::Installation& installation : catalog.available()) {
    const std::string& executable = installation.toolchain.executable;
    const std::string directory = executable.substr(0, executable.rfind('/'));
    const bool plain = directory == "/usr/bin" || directory == "/bin";
    if (!plain && path.find(directory + ":") == std::string::npos) path += directory + ":";
  }
  return path + "/usr/local/bin:/usr/bin:/bin";
}

/// Returns limits that a build in a container would expect. They still protect the machine.
jail::RunLimits CommandLimits() {
  jail::RunLimits limits;
  limits.address_space = Bytes(std::numeric_limits<std::uint64_t>::max());
  limits.file_size = Bytes::MiB(256);
  limits.open_files = 1024;
  limits.processes = 256;
  limits.cpu_per_second = std::chrono::seconds(std::max(1U, std::thread::hardware_concurrency()));
  limits.disk = Bytes::MiB(256);
  limits.inodes = 32768;
  return limits;
}

/// Returns whether the owner has no uid in the user namespace of polybox. stat() then shows the
/// overflow uid. An owner that really has this number can be made the owner again without an error.
bool HasUnmappedOwner(const std::string& path, const struct stat& info) {
  const std::string overflow = ReadFile("/proc/sys/kernel/overflowuid").value_or("65534\n");
  if (overflow != std::to_string(info.st_uid) + "\n") return false;
  return ::chown(path.c_str(), info.st_uid, static_cast<gid_t>(-1)) != 0 && errno == EPERM;
}

}  // namespace

Result<unsigned> TakeCommandDirectory(int directory, jail::Uids uids) {
  struct stat info{};
  const std::string path = fmt::format("/proc/self/fd/{}", directory);
  if (::stat(path.c_str(), &info) != 0) return Error::FromErrno("look at the base directory");
  const std::optional<sys::GuestIds> ids = sys::IdsForGuests();
  // Commands run with the uid of polybox, which owns the directory already.
  if (uids == jail::Uids::kShared || !ids) return info.st_uid;
  if (HasUnmappedOwner(path, info)) {
    return Error(ErrorKind::kUnavailable,
                 "the owner of the base directory has no uid in this container")
        .WithFix(
            "map that uid into the container, or name a directory of a uid that it has with "
            "--base-dir");
  }
  // A directory that does not belong to polybox keeps its owner.
  if (info.st_uid != ::geteuid()) return info.st_uid;
  if (::chown(path.c_str(), ids->owner, ids->owner) != 0) {
    return Error::FromErrno("give the base directory to its commands")
        .WithFix("name a directory of another uid with --base-dir, or allow CAP_CHOWN");
  }
  return ids->owner;
}

std::string ShownAt(const CommandDirectory& commands, jail::Grade grade) {
  if (!jail::HasNamespaces(grade)) return commands.directory;
  const auto is_below = [&](const char* taken) {
    return commands.shown == taken || commands.shown.starts_with(std::string(taken) + "/");
  };
  return commands.shown == "/" || std::ranges::any_of(kTaken, is_below) ? kElsewhere
                                                                        : commands.shown;
}

jail::Spec CommandSpec(const CommandDirectory& commands, const Catalog& catalog,
                       jail::Grade grade) {
  jail::Spec spec = jail::HostSpec();
  spec.grade = grade;
  spec.egress = commands.egress;
  for (const launch::Installation& installation : catalog.available()) {
    for (const std::string& root : installation.toolchain.roots) jail::ShowPath(spec, root);
  }
  if (spec.privileged) spec.guest_uid = commands.owner;
  spec.trees.push_back({.source = commands.directory,
                        .target = ShownAt(commands, grade),
                        .is_file = false,
                        .is_mount = false,
                        .writable = true});
  const jail::RunLimits limits = CommandLimits();
  spec.scratch = limits.disk;
  spec.scratch_inodes = static_cast<std::uint64_t>(limits.inodes);
  return spec;
}

jail::RunRequest CommandRun(const CommandDirectory& commands, const Catalog& catalog,
                            jail::Grade grade, const std::vector<std::string>& argv) {
  jail::RunRequest run;
  const std::string path = SearchPathOf(catalog);
  run.argv = argv;
  if (argv[0].find('/') == std::string::npos) {
    const std::string found = sys::FindOnPath(argv[0], path);
    if (!found.empty()) run.argv[0] = found;
  }
  run.directory = ShownAt(commands, grade);
  run.env = {"PATH=" + path, "HOME=" + run.directory, "LANG=C.UTF-8"};
  if (commands.egress) {
    for (const auto& [name, value] : launch::EgressEnvironment()) {
      run.env.push_back(fmt::format("{}={}", name, value));
    }
  }
  run.limits = CommandLimits();
  run.limits.memory = Bytes(commands.memory.count() + commands.in_memory.count());
  return run;
}

}  // namespace polybox::exec
