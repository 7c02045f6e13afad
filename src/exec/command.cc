#include "exec/command.h"

#include <algorithm>
#include <limits>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "exec/launch.h"
#include "sys/command.h"

namespace polybox::exec {
namespace {

// Just below those of guests (jail/slot.cc), and the same in every server: the files stay usable.
constexpr unsigned kOwner = 0x6FFFFFFF;

// Where agents look first.
constexpr const char* kElsewhere = "/app";
constexpr const char* kTaken[] = {"/bin",  "/dev",     "/etc",  "/lib", "/lib64",
                                  "/proc", "/sandbox", "/sbin", "/tmp", "/usr"};

/// Every toolchain's programs, then the host's.
std::string SearchPathOf(const Catalog& catalog) {
  std::string path;
  for (const Installation& installation : catalog.available()) {
    const std::string& executable = installation.toolchain.executable;
    const std::string directory = executable.substr(0, executable.rfind('/'));
    const bool plain = directory == "/usr/bin" || directory == "/bin";
    if (!plain && path.find(directory + ":") == std::string::npos) path += directory + ":";
  }
  return path + "/usr/local/bin:/usr/bin:/bin";
}

/// What a build in a container would expect; the machine is protected by them all the same.
jail::RunLimits CommandLimits() {
  jail::RunLimits limits;
  limits.memory = Bytes::MiB(1024);
  limits.address_space = Bytes(std::numeric_limits<std::uint64_t>::max());
  limits.file_size = Bytes::MiB(256);
  limits.open_files = 1024;
  limits.processes = 256;
  limits.cpu_per_second = std::chrono::seconds(std::max(1U, std::thread::hardware_concurrency()));
  limits.disk = Bytes::MiB(256);
  limits.inodes = 32768;
  return limits;
}

}  // namespace

Result<unsigned> TakeCommandDirectory(int directory) {
  struct stat info{};
  const std::string path = fmt::format("/proc/self/fd/{}", directory);
  if (::stat(path.c_str(), &info) != 0) return Error::FromErrno("look at the base directory");
  if (::geteuid() != 0 || info.st_uid != 0) return info.st_uid;
  if (::chown(path.c_str(), kOwner, kOwner) != 0) {
    return Error::FromErrno("give the base directory to its commands");
  }
  return kOwner;
}

std::string ShownAt(const CommandPlace& place, jail::Grade grade) {
  if (!jail::HasNamespaces(grade)) return place.directory;
  const auto is_below = [&](const char* taken) {
    return place.shown == taken || place.shown.starts_with(std::string(taken) + "/");
  };
  return place.shown == "/" || std::ranges::any_of(kTaken, is_below) ? kElsewhere : place.shown;
}

jail::Spec CommandSpec(const CommandPlace& place, const Catalog& catalog, jail::Grade grade) {
  jail::Spec spec = jail::HostSpec();
  spec.grade = grade;
  spec.egress = place.egress;
  for (const Installation& installation : catalog.available()) {
    for (const std::string& root : installation.toolchain.roots) jail::ShowPath(spec, root);
  }
  if (spec.privileged) spec.guest_uid = place.owner;
  spec.trees.push_back({.source = place.directory,
                        .target = ShownAt(place, grade),
                        .is_file = false,
                        .is_mount = false,
                        .writable = true});
  const jail::RunLimits limits = CommandLimits();
  spec.scratch = limits.disk;
  spec.scratch_inodes = static_cast<std::uint64_t>(limits.inodes);
  return spec;
}

jail::RunRequest CommandRun(const CommandPlace& place, const Catalog& catalog, jail::Grade grade,
                            const std::vector<std::string>& argv) {
  jail::RunRequest run;
  const std::string path = SearchPathOf(catalog);
  run.argv = argv;
  if (argv[0].find('/') == std::string::npos) {
    const std::string found = sys::FindOnPath(argv[0], path);
    if (!found.empty()) run.argv[0] = found;
  }
  run.directory = ShownAt(place, grade);
  run.env = {"PATH=" + path, "HOME=" + run.directory, "LANG=C.UTF-8"};
  if (place.egress) {
    for (const auto& [name, value] : EgressEnvironment()) {
      run.env.push_back(fmt::format("{}={}", name, value));
    }
  }
  run.limits = CommandLimits();
  run.limits.memory = Bytes(run.limits.memory.count() + place.in_memory.count());
  return run;
}

}  // namespace polybox::exec
