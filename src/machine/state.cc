#include "machine/state.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/files.h"
#include "sys/guest_tree.h"
#include "workspace/state_directory.h"

namespace polybox::machine {
namespace {

namespace fs = std::filesystem;

/// So many servers can use one workspace and keep changes to package caches.
constexpr int kMostServers = 16;

Status MakeDirectories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return Error::FromErrno("make " + path, error.value());
  return {};
}

}  // namespace

Result<State> State::Open(const workspace::Workspace& workspace, const std::string& cache_dir) {
  POLYBOX_ASSIGN_OR_RETURN(
      std::string directory,
      workspace::StateDirectory(workspace, cache_dir, workspace::Missing::kMake));
  State state(std::move(directory), workspace.owner());
  POLYBOX_RETURN_IF_ERROR(state.MakeOwned(state.home()));
  return state;
}

Status State::MakeOwned(const std::string& path) const {
  constexpr mode_t kMode = S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH;
  if (::mkdir(path.c_str(), kMode) != 0 && errno != EEXIST) return Error::FromErrno("make " + path);
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (::geteuid() == 0 && ::fchown(fd.get(), owner_.uid, owner_.gid) != 0) {
    return Error::FromErrno("give to the owner of the workspace: " + path);
  }
  return {};
}

Status State::MakeInHome(const std::string& path) const {
  POLYBOX_ASSIGN_OR_RETURN(UniqueFd at, OpenFile(home(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  for (const fs::path& part : fs::path(path)) {
    const std::string name = part.string();
    const bool made = ::mkdirat(at.get(), name.c_str(), S_IRWXU) == 0;
    if (!made && errno != EEXIST) return Error::FromErrno("make " + path);
    POLYBOX_ASSIGN_OR_RETURN(at, sys::OpenBeneath(at.get(), name, O_RDONLY | O_DIRECTORY));
    if (made && ::geteuid() == 0 && ::fchown(at.get(), owner_.uid, owner_.gid) != 0) {
      return Error::FromErrno("give to the owner of the workspace: " + path);
    }
  }
  return {};
}

Status State::LockChanges() {
  for (int number = 0; number < kMostServers; ++number) {
    const std::string directory = fmt::format("{}/changes-{}", directory_, number);
    POLYBOX_RETURN_IF_ERROR(MakeDirectories(directory));
    POLYBOX_ASSIGN_OR_RETURN(UniqueFd lock,
                             OpenFile(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    changes_ = directory;
    lock_ = std::move(lock);
    return {};
  }
  return Error(ErrorKind::kUnavailable,
               fmt::format("{} other servers use this workspace", kMostServers));
}

Result<std::string> State::ChangesOf(const std::string& name) {
  if (!lock_.valid()) POLYBOX_RETURN_IF_ERROR(LockChanges());
  std::string directory = changes_ + "/" + name;
  POLYBOX_RETURN_IF_ERROR(MakeOwned(directory));
  // What an overlay left there can belong to the ids of a slot that ended.
  std::error_code ignored;
  fs::remove_all(directory + "/work", ignored);
  for (const char* part : {"/upper", "/work"}) {
    POLYBOX_RETURN_IF_ERROR(MakeOwned(directory + part));
  }
  return directory;
}

Status State::WriteGitConfig(const std::string& content) const {
  return ReplaceFile(git_config(), content);
}

}  // namespace polybox::machine
