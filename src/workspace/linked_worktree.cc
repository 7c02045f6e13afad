#include "workspace/linked_worktree.h"

#include <cstdlib>
#include <fcntl.h>
#include <memory>

#include <sys/stat.h>

#include "base/files.h"
#include "workspace/protected_scan.h"

namespace polybox::workspace {
namespace {

constexpr std::string_view kMark = "gitdir: ";
/// The files hold one path each.
constexpr Bytes kLargestFile = Bytes::KiB(8);

Error Refusal(const std::string& why) {
  return Error(ErrorKind::kInvalid, "the repository of this linked worktree is not shown: " + why);
}

std::string ReadLine(int directory, const std::string& name) {
  const Result<UniqueFd> file = OpenInTree(directory, name, O_RDONLY);
  struct stat info{};
  if (!file.ok() || ::fstat(file->get(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  std::string text = ReadAll(file->get(), kLargestFile).value_or("");
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

/// Returns the path without links; "" if it does not exist.
std::string RealPath(const std::string& path, const std::string& base) {
  const std::string whole = path.starts_with('/') ? path : base + "/" + path;
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(whole.c_str(), nullptr), ::free);
  return real ? real.get() : "";
}

bool IsInside(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

Result<UniqueFd> OpenOwned(const std::string& path, const Owner& owner) {
  UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return Refusal(path + " cannot be opened");
  if (info.st_uid != owner.uid) return Refusal(path + " belongs to another user");
  return fd;
}

bool IsSameFile(const std::string& path, int directory, const std::string& name) {
  struct stat one{};
  struct stat other{};
  return ::stat(path.c_str(), &one) == 0 &&
         ::fstatat(directory, name.c_str(), &other, AT_SYMLINK_NOFOLLOW) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool LooksLikeRepository(int directory) {
  struct stat info{};
  const auto is_directory = [&](const char* name) {
    return ::fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
  };
  return is_directory("objects") && is_directory("refs") &&
         ::fstatat(directory, "HEAD", &info, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace

Result<std::optional<LinkedWorktree>> FindLinkedWorktree(const Workspace& workspace) {
  POLYBOX_ASSIGN_OR_RETURN(const ActAsOwner acting, ActAsOwner::Begin(workspace.owner()));
  const int root = workspace.root().directory;
  const std::string line = ReadLine(root, ".git");
  if (!line.starts_with(kMark)) return std::optional<LinkedWorktree>();
  const std::string own = RealPath(line.substr(kMark.size()), workspace.path());
  const std::string parent = own.substr(0, own.rfind('/'));
  if (!parent.ends_with("/worktrees")) return std::optional<LinkedWorktree>();
  const std::string repository = parent.substr(0, parent.rfind('/'));
  if (IsInside(repository, workspace.path())) return std::optional<LinkedWorktree>();
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd entry, OpenOwned(own, workspace.owner()));
  if (!IsSameFile(ReadLine(entry.get(), "gitdir"), root, ".git")) {
    return Refusal(own + "/gitdir does not name this workspace");
  }
  if (RealPath(ReadLine(entry.get(), "commondir"), own) != repository) {
    return Refusal(own + "/commondir does not name " + repository);
  }
  POLYBOX_ASSIGN_OR_RETURN(UniqueFd directory, OpenOwned(repository, workspace.owner()));
  if (IsInside(workspace.path(), repository) || !LooksLikeRepository(directory.get())) {
    return Refusal(repository + " is no repository beside the workspace");
  }
  return std::optional(LinkedWorktree{repository, std::move(directory)});
}

}  // namespace polybox::workspace
