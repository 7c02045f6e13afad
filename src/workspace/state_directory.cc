#include "workspace/state_directory.h"

#include <filesystem>

#include <fmt/format.h>

#include "workspace/content_hash.h"

namespace polybox::workspace {
namespace {

namespace fs = std::filesystem;

/// Enough to tell the workspaces of a machine apart. Short, because paths of sockets below the home
/// have at most 107 bytes.
constexpr std::size_t kHashBytes = 8;

Status MakeDirectories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return Error::FromErrno("make " + path, error.value());
  return {};
}

std::string NameOf(const Workspace& workspace) {
  const ContentHash hash = HashOf(workspace.path());
  std::string name;
  for (std::size_t i = 0; i < kHashBytes; ++i) name += fmt::format("{:02x}", hash[i]);
  return name;
}

}  // namespace

Result<std::string> StateDirectory(const Workspace& workspace, const std::string& cache_dir,
                                   Missing missing) {
  const std::string parent = cache_dir + "/workspaces";
  if (missing == Missing::kMake) POLYBOX_RETURN_IF_ERROR(MakeDirectories(parent));
  std::error_code error;
  const std::string real = fs::weakly_canonical(parent, error).string();
  if (error) return Error::FromErrno("find " + parent, error.value());
  const std::string& root = workspace.path();
  if (root == "/" || (real + "/").starts_with(root + "/")) {
    return Error(ErrorKind::kInvalid,
                 fmt::format("the workspace {} contains the cache directory of polybox ({}), which "
                             "commands may not write",
                             root, cache_dir))
        .WithFix("name a cache directory outside of the workspace with --cache-dir");
  }
  std::string directory = real + "/" + NameOf(workspace);
  if (missing == Missing::kMake) POLYBOX_RETURN_IF_ERROR(MakeDirectories(directory));
  return directory;
}

}  // namespace polybox::workspace
