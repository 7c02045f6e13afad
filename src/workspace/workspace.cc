#include "workspace/workspace.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/printable.h"
#include "workspace/system_text.h"

namespace polybox::workspace {
namespace {

std::string Quoted(std::string_view path) {
  return "\"" + PrintableForQuotes(path, PATH_MAX) + "\"";
}

std::string WithoutLastSlashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Error NotAbsolute(const std::string& path) {
  Error error(ErrorKind::kInvalid, "workspace root must be absolute: " + Quoted(path));
  std::error_code failed;
  const std::filesystem::path here = std::filesystem::current_path(failed);
  if (path.empty() || failed) return error;
  // Many clients pass on what their user wrote as it is.
  if (path.starts_with('~') || path.find('$') != std::string::npos) {
    return std::move(error).WithFix(
        "write the path itself: nobody has replaced the \"~\" or the variable in it");
  }
  const std::string whole = (here / path).lexically_normal().string();
  return std::move(error).WithFix("name it as " + WithoutLastSlashes(whole));
}

/// Fails if this process may not look for anything in the directory. Then no tool would work.
Status RequireEntry(int directory, const std::string& path) {
  if (::faccessat(directory, ".", X_OK, AT_EACCESS) == 0) return {};
  return CallError("enter", path, errno)
      .In("workspace root")
      .WithFix("start polybox as the owner of the directory, or give this user access to it");
}

}  // namespace

Result<std::unique_ptr<Workspace>> Workspace::Open(std::string name, const std::string& path,
                                                   const WorkspaceOptions& options) {
  if (!path.starts_with('/')) return NotAbsolute(path);
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), ::free);
  if (real == nullptr) return CallError("lstat", path, errno).In("resolve workspace root");
  // The private constructor is out of make_unique()'s reach.
  std::unique_ptr<Workspace> workspace(new Workspace(std::move(name), options));
  workspace->path_ = real.get();
  workspace->spelled_ = WithoutLastSlashes(path);
  UniqueFd entry(::open(real.get(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!entry.valid() || ::fstat(entry.get(), &info) != 0) {
    return CallError("stat", real.get(), errno).In("stat workspace root");
  }
  if (!S_ISDIR(info.st_mode)) {
    return Error(ErrorKind::kInvalid, "workspace root is not a directory: " + Quoted(path));
  }
  POLYBOX_RETURN_IF_ERROR(RequireEntry(entry.get(), path));
  workspace->directory_ = std::move(entry);
  workspace->owner_ = {info.st_uid, info.st_gid};
  return workspace;
}

}  // namespace polybox::workspace
