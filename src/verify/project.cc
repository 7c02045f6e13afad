#include "verify/project.h"

#include <algorithm>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/files.h"
#include "sys/guest_tree.h"
#include "workspace/resolve.h"
#include "workspace/system_text.h"

namespace polybox::verify {
namespace {

/// The root of a project has some dozen files. More are not looked at.
constexpr std::size_t kMostFiles = 20'000;
/// Lock files are not read; a package.json of 100 KiB is already rare.
constexpr Bytes kLargestManifest = Bytes::MiB(4);

bool IsPlainFile(int directory, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_REG;
  struct stat info{};
  return ::fstatat(directory, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(info.st_mode);
}

/// Returns the names of the plain files in `directory` (borrowed), sorted.
Result<std::vector<std::string>> PlainFilesIn(int directory) {
  UniqueFd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!copy.valid()) return Error::FromErrno("open the directory");
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(copy.get()), &::closedir);
  if (!entries) return Error::FromErrno("read the directory");
  (void)copy.release();
  std::vector<std::string> names;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream belongs to this thread.
  while (const dirent* entry = ::readdir(entries.get())) {
    if (names.size() >= kMostFiles) break;
    if (IsPlainFile(directory, *entry)) names.emplace_back(entry->d_name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

Result<Project> Project::Open(const workspace::Workspace& workspace, std::string_view path) {
  POLYBOX_ASSIGN_OR_RETURN(const workspace::ActAsOwner acting,
                           workspace::ActAsOwner::Begin(workspace.owner()));
  Result<workspace::Place> place = workspace::Resolve(workspace.root(), path.empty() ? "." : path);
  if (!place.ok()) return std::move(place).error().In("path");
  Project project;
  project.owner_ = workspace.owner();
  project.path_ = place->path;
  project.directory_ = workspace::AbsolutePath(workspace.root(), *place);
  Result<UniqueFd> opened = workspace::OpenAt(*place, O_RDONLY | O_DIRECTORY);
  if (!opened.ok()) {
    return workspace::CallError("path: open", project.directory_, opened.error().system_errno());
  }
  project.fd_ = std::move(opened).value();
  POLYBOX_ASSIGN_OR_RETURN(project.files_, PlainFilesIn(project.fd_.get()).In("path"));
  return project;
}

bool Project::Has(std::string_view name) const {
  return std::ranges::binary_search(files_, name);
}

std::optional<std::string> Project::Read(const std::string& name) const {
  const Result<workspace::ActAsOwner> acting = workspace::ActAsOwner::Begin(owner_);
  if (!acting.ok() || !Has(name)) return {};
  const Result<UniqueFd> file = sys::OpenBeneath(fd_.get(), name, O_RDONLY | O_NONBLOCK);
  struct stat info{};
  if (!file.ok() || ::fstat(file->get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  Result<std::string> text = ReadAll(file->get(), kLargestManifest);
  if (!text.ok()) return {};
  return std::move(text).value();
}

}  // namespace polybox::verify
