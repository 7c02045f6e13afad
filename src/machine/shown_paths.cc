#include "machine/shown_paths.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <pwd.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/split.h"
#include "sys/guest_tree.h"

namespace polybox::machine {
namespace {

namespace fs = std::filesystem;

/// A directory on PATH has far fewer; /usr/bin of a large system has some thousands.
constexpr std::size_t kMostEntries = 20'000;
/// The largest number of links that are followed; the kernel follows as many.
constexpr int kMostLinks = 40;

bool IsInside(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory == "/" ? "/" : directory + "/");
}

/// Returns the path without links, or "" if it does not exist.
std::string Real(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? "" : real.string();
}

std::string ParentOf(const std::string& path) {
  return fs::path(path).parent_path().string();
}

void AddOnce(std::vector<std::string>& list, const std::string& item) {
  if (std::ranges::count(list, item) == 0) list.push_back(item);
}

std::vector<std::string> HomesOfUsers() {
  std::vector<std::string> homes;
  // Each call reads the whole list from the start.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  ::setpwent();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): under the lock above.
  while (const passwd* user = ::getpwent()) {
    const std::string home = user->pw_dir;
    // Homes of services: /, /bin, /usr/sbin, /var/lib/x. Nobody keeps private files in the first
    // two, and programs are in them.
    const bool is_system = home.size() < 2 || IsInside(home, "/usr") || home == "/bin" ||
                           home == "/sbin" || home == "/dev";
    if (!is_system) homes.push_back(home);
  }
  ::endpwent();
  return homes;
}

/// Returns the directory to show for the program `file`, to which a link on PATH leads. A program
/// in `bin` needs what lies beside `bin`. "" if only the file itself may be shown.
std::string DirectoryFor(const std::string& file, const ClosedPaths& closed) {
  const std::string directory = ParentOf(file);
  const std::string name = fs::path(directory).filename().string();
  const std::string root = ParentOf(directory);
  const bool is_bin = name == "bin" || name == "sbin" || name == "libexec";
  if (is_bin && closed.MayShow(root) && !closed.IsTopOfHome(root)) return root;
  return closed.MayShow(directory) ? directory : "";
}

/// Collects what PATH needs.
class Collector {
 public:
  Collector(const std::vector<languages::Toolchain>& toolchains, const ClosedPaths& closed)
      : toolchains_(toolchains), closed_(closed) {}

  void AddDirectory(const std::string& directory) {
    AddToolchainsOf(directory);
    const std::string real = Real(directory);
    std::error_code error;
    if (real.empty() || !fs::is_directory(real, error) || !closed_.MayShow(real)) return;
    AddOnce(path_, directory);
    AddOnce(shown_.directories, real);
    if (real != directory) shown_.links.emplace_back(directory, real);
    AddTargets(real);
  }

  void AddRoots() {
    for (const languages::Toolchain& toolchain : toolchains_) {
      for (const std::string& root : toolchain.roots) {
        const std::string real = Real(root);
        if (!real.empty() && closed_.MayShow(real)) AddOnce(shown_.directories, real);
      }
    }
  }

  ShownPaths Take() {
    for (const char* usual : {"/usr/local/bin", "/usr/bin", "/bin"}) AddOnce(path_, usual);
    shown_.path = fmt::format("{}", fmt::join(path_, ":"));
    return std::move(shown_);
  }

 private:
  /// Adds the directories of the real programs behind the shims in `directory`.
  void AddToolchainsOf(const std::string& directory) {
    for (const languages::Toolchain& toolchain : toolchains_) {
      if (ParentOf(toolchain.binary) != directory) continue;
      const std::string own = ParentOf(toolchain.executable);
      if (own != directory && Real(own) != Real(directory)) AddOnce(path_, own);
    }
  }

  /// Adds what the links in a directory on PATH point into.
  void AddTargets(const std::string& directory) {
    std::error_code error;
    std::size_t count = 0;
    for (auto entry = fs::directory_iterator(directory, error);
         !error && entry != fs::directory_iterator() && count < kMostEntries;
         entry.increment(error), ++count) {
      std::error_code ignored;
      if (entry->is_symlink(ignored)) AddTarget(entry->path());
    }
  }

  /// Adds what one link leads to, and each path on the way there.
  void AddTarget(fs::path link) {
    const std::string target = Real(link.string());
    if (target.empty()) return;
    AddTargetPath(target, target);
    for (int i = 0; i < kMostLinks; ++i) {
      std::error_code error;
      const fs::path next = fs::read_symlink(link, error);
      if (error) return;
      link = (link.parent_path() / next).lexically_normal();
      AddTargetPath(link.string(), target);
    }
  }

  /// Adds the directory of `path`, which leads to the file `target`.
  void AddTargetPath(const std::string& path, const std::string& target) {
    if (IsShown(path)) return;
    const std::string found = DirectoryFor(path, closed_);
    const std::string real = Real(found);
    if (found.empty() || !closed_.MayShow(real)) {
      if (path == target) AddOnce(shown_.files, target);
      return;
    }
    AddOnce(shown_.directories, real);
    const std::pair named(found, real);
    if (found != real && std::ranges::count(shown_.links, named) == 0) {
      shown_.links.push_back(named);
    }
  }

  bool IsShown(const std::string& path) const {
    return IsInside(path, "/usr") ||
           std::ranges::any_of(shown_.directories,
                               [&](const std::string& shown) { return IsInside(path, shown); });
  }

  const std::vector<languages::Toolchain>& toolchains_;
  const ClosedPaths& closed_;
  ShownPaths shown_;
  std::vector<std::string> path_;
};

/// Returns the value of `home` in the text of a pyvenv.cfg.
std::string HomeIn(const std::string& text) {
  for (const std::string& line : Split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_first_of(" \t="));
    const std::size_t begin = line.find_first_not_of(" \t", equals + 1);
    if (key != "home" || begin == std::string::npos) continue;
    return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
  }
  return "";
}

/// Returns the root of the interpreter in the directory `home`, or "".
std::string RootOfInterpreter(const std::string& home, const workspace::Workspace& workspace,
                              const ClosedPaths& closed) {
  if (!home.starts_with('/')) return "";
  for (const char* name : {"python3", "python"}) {
    const std::string real = Real(home + "/" + name);
    if (real.empty() || ::access(real.c_str(), X_OK) != 0) continue;
    if (IsInside(real, workspace.path()) || IsInside(real, "/usr")) return "";
    const bool is_interpreter = fs::path(real).filename().string().starts_with("python");
    const std::string root = ParentOf(ParentOf(real));
    const bool usable = is_interpreter && closed.MayShow(root) && !closed.IsTopOfHome(root);
    return usable ? root : "";
  }
  return "";
}

}  // namespace

ClosedPaths::ClosedPaths(std::vector<std::string> paths)
    : homes_(HomesOfUsers()), closed_(std::move(paths)) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing changes the environment while threads run.
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    homes_.emplace_back(home);
  }
  for (std::string& home : homes_) {
    if (std::string real = Real(home); !real.empty()) home = std::move(real);
  }
  std::erase(homes_, "/");
}

bool ClosedPaths::IsHome(const std::string& directory) const {
  return std::ranges::count(homes_, directory) > 0 || ParentOf(directory) == "/home";
}

bool ClosedPaths::MayShow(const std::string& directory) const {
  if (!directory.starts_with('/') || directory == "/" || IsHome(directory)) return false;
  const auto holds = [&](const std::string& closed) { return IsInside(closed, directory); };
  return !IsInside("/home", directory) && !std::ranges::any_of(homes_, holds) &&
         !std::ranges::any_of(closed_, holds);
}

bool ClosedPaths::IsTopOfHome(const std::string& directory) const {
  return IsHome(directory) || IsHome(ParentOf(directory));
}

ShownPaths FindShownPaths(std::string_view path,
                          const std::vector<languages::Toolchain>& toolchains,
                          const ClosedPaths& closed) {
  Collector collector(toolchains, closed);
  collector.AddRoots();
  for (const std::string& directory : Split(path, ':')) {
    if (directory.starts_with('/')) collector.AddDirectory(fs::path(directory).lexically_normal());
  }
  return collector.Take();
}

std::string VenvRoot(const workspace::Workspace& workspace, const ClosedPaths& closed) {
  constexpr Bytes kLargest = Bytes::KiB(64);
  for (const char* name : {".venv/pyvenv.cfg", "venv/pyvenv.cfg"}) {
    const Result<UniqueFd> file =
        sys::OpenBeneath(workspace.root().directory, name, O_RDONLY | O_NONBLOCK);
    struct stat info{};
    if (!file.ok() || ::fstat(file->get(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const std::string root =
        RootOfInterpreter(HomeIn(ReadAll(file->get(), kLargest).value_or("")), workspace, closed);
    if (!root.empty()) return root;
  }
  return "";
}

}  // namespace polybox::machine
