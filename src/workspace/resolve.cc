#include "workspace/resolve.h"

#include <cerrno>
#include <climits>
#include <deque>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

#include "sys/open_below.h"
#include "workspace/glob_pattern.h"
#include "workspace/system_text.h"

namespace polybox::workspace {
namespace {

/// As many links as the kernel follows.
constexpr int kMostLinks = 40;
constexpr int kDirectory = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Error Outside() {
  return {ErrorKind::kInvalid, "path is outside workspace root"};
}

/// Returns the error of a component that cannot be followed.
Error Unresolvable(const std::string& path, int system_errno) {
  return CallError("lstat", path, system_errno).In("resolve path");
}

/// Removes `root` from the front of an absolute path. Returns nothing if the path is not below it.
std::optional<std::string_view> Below(std::string_view path, std::string_view root) {
  if (root == "/") return path.substr(1);
  if (!path.starts_with(root)) return std::nullopt;
  path.remove_prefix(root.size());
  if (path.empty()) return path;
  if (path.front() != '/') return std::nullopt;
  return path.substr(1);
}

std::string Join(const std::vector<std::string_view>& names) {
  std::string path;
  for (const std::string_view name : names) {
    if (!path.empty()) path += '/';
    path += name;
  }
  return path;
}

/// Returns an absolute path with "." and ".." resolved as text.
std::string CleanAbsolute(std::string_view path) {
  std::vector<std::string_view> names;
  for (const std::string_view name : SplitPath(path)) {
    if (name == ".") continue;
    if (name != "..") {
      names.push_back(name);
    } else if (!names.empty()) {
      names.pop_back();
    }
  }
  return "/" + Join(names);
}

/// Returns the argument as a relative path without "." and "..".
Result<std::string> Clean(const Root& root, std::string_view argument) {
  if (argument.size() >= PATH_MAX) {
    return Unresolvable(std::string(argument.substr(0, 100)) + "...", ENAMETOOLONG);
  }
  if (argument.find('\0') != std::string_view::npos) {
    return Unresolvable(std::string(argument.substr(0, argument.find('\0'))), EINVAL);
  }
  const bool absolute = argument.starts_with('/');
  const std::string clean = CleanAbsolute(
      absolute ? std::string(argument) : std::string(root.path) + "/" + std::string(argument));
  std::optional<std::string_view> relative = Below(clean, root.path);
  if (!relative) relative = Below(clean, root.spelled);
  if (!relative) return Outside();
  return std::string(*relative);
}

/// Walks a path one component at a time. One thread; used once.
class Walk {
 public:
  Walk(const Root& root, LastLink last_link) : root_(root), last_link_(last_link) {}

  Result<Place> To(std::string_view path) {
    for (const std::string_view name : SplitPath(path)) todo_.push_back({std::string(name), false});
    while (!todo_.empty()) {
      const Step step = std::move(todo_.front());
      todo_.pop_front();
      POLYBOX_ASSIGN_OR_RETURN(std::optional<Place> place, Take(step));
      if (place) return std::move(*place);
    }
    return HereAsPlace();
  }

 private:
  /// A component that is still to be taken.
  struct Step {
    std::string name;
    /// Whether the component comes from the text of a link.
    bool from_link = false;
  };
  /// A directory on the way, below the root.
  struct Level {
    UniqueFd directory;
    std::string name;
  };

  int Here() const { return levels_.empty() ? root_.directory : levels_.back().directory.get(); }

  std::string PathOf(std::string_view name) const {
    std::string path;
    for (const Level& level : levels_) path += level.name + "/";
    return path + std::string(name);
  }

  Error Fails(const Step& step, int system_errno) const {
    return Unresolvable(std::string(root_.path) + "/" + PathOf(step.name), system_errno);
  }

  /// Takes one component. Returns the place if it is the last one.
  Result<std::optional<Place>> Take(const Step& step) {
    if (step.name == ".") return std::optional<Place>();
    if (step.name == "..") {
      // Not the entry ".." of the directory: the directory may have been moved.
      if (levels_.empty()) return Outside();
      levels_.pop_back();
      return std::optional<Place>();
    }
    UniqueFd entry(::openat(Here(), step.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!entry.valid()) {
      if (errno != ENOENT || step.from_link) return Fails(step, errno);
      return Missing(step);
    }
    struct stat info{};
    if (::fstat(entry.get(), &info) != 0) return Fails(step, errno);
    const bool last = todo_.empty();
    if (S_ISLNK(info.st_mode) && !(last && last_link_ == LastLink::kKeep)) {
      POLYBOX_RETURN_IF_ERROR(FollowLink(entry.get(), step));
      return std::optional<Place>();
    }
    if (last) return PlaceOf(step.name);
    if (!S_ISDIR(info.st_mode)) return Fails(step, ENOTDIR);
    levels_.push_back({std::move(entry), step.name});
    return std::optional<Place>();
  }

  /// Puts the components of the link's text before the others.
  Status FollowLink(int link, const Step& step) {
    if (++links_ > kMostLinks) return Fails(step, ELOOP);
    char buffer[PATH_MAX];
    const ssize_t size = ::readlinkat(link, "", buffer, sizeof buffer);
    if (size < 0) return Fails(step, errno);
    std::string_view target(buffer, static_cast<std::size_t>(size));
    if (target.starts_with('/')) {
      std::optional<std::string_view> relative = Below(target, root_.path);
      if (!relative) relative = Below(target, root_.spelled);
      if (!relative) return Outside();
      target = *relative;
      levels_.clear();
    }
    std::vector<std::string_view> names = SplitPath(target);
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
      todo_.push_front({std::string(*name), true});
    }
    return {};
  }

  /// Returns the place of an entry that does not exist.
  Result<std::optional<Place>> Missing(const Step& step) {
    POLYBOX_ASSIGN_OR_RETURN(std::optional<Place> place, PlaceOf(step.name));
    for (const Step& below : todo_) {
      place->missing.push_back(place->name);
      place->name = below.name;
      place->path += "/" + below.name;
    }
    return place;
  }

  Result<std::optional<Place>> PlaceOf(const std::string& name) const {
    UniqueFd parent(::openat(Here(), ".", kDirectory));
    if (!parent.valid()) return Unresolvable(std::string(root_.path), errno);
    return std::optional(Place{std::move(parent), {}, name, PathOf(name)});
  }

  /// Returns the place of the directory where the walk has ended.
  Result<Place> HereAsPlace() {
    const std::string name = levels_.empty() ? "." : levels_.back().name;
    if (!levels_.empty()) levels_.pop_back();
    POLYBOX_ASSIGN_OR_RETURN(std::optional<Place> place, PlaceOf(name));
    if (name == ".") place->path.clear();
    return std::move(*place);
  }

  const Root& root_;
  const LastLink last_link_;
  std::deque<Step> todo_;
  std::vector<Level> levels_;
  int links_ = 0;
};

/// Finds the place in two system calls if no component is a link. Otherwise returns nothing, and
/// Walk must find it.
std::optional<Place> ResolveWithoutLinks(const Root& root, const std::string& path,
                                         LastLink last_link) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  open_how how{};
  how.flags = kDirectory;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  UniqueFd parent(sys::OpenBelow(root.directory, folder.c_str(), how));
  if (!parent.valid()) return std::nullopt;
  Place place{std::move(parent), {}, path.substr(slash + 1), path};
  const Result<struct stat> state = StateOf(place);
  if (!state.ok() && state.error().system_errno() != ENOENT) return std::nullopt;
  if (state.ok() && S_ISLNK(state->st_mode) && last_link == LastLink::kFollow) return std::nullopt;
  return place;
}

}  // namespace

Result<Place> Resolve(const Root& root, std::string_view path, LastLink last_link) {
  POLYBOX_ASSIGN_OR_RETURN(const std::string clean, Clean(root, path));
  if (!clean.empty()) {
    std::optional<Place> place = ResolveWithoutLinks(root, clean, last_link);
    if (place) return std::move(*place);
  }
  return Walk(root, last_link).To(clean);
}

Result<struct stat> StateOf(const Place& place) {
  struct stat info{};
  if (!place.missing.empty()) return Error::FromErrno("stat", ENOENT);
  if (::fstatat(place.parent.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return Error::FromErrno("stat");
  }
  return info;
}

Result<UniqueFd> OpenAt(const Place& place, int flags) {
  if (!place.missing.empty()) return Error::FromErrno("open", ENOENT);
  UniqueFd fd(::openat(place.parent.get(), place.name.c_str(),
                       flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) return Error::FromErrno("open");
  return fd;
}

std::string AbsolutePath(const Root& root, const Place& place) {
  if (place.IsRoot()) return std::string(root.path);
  return (root.path == "/" ? "/" : std::string(root.path) + "/") + place.path;
}

}  // namespace polybox::workspace
