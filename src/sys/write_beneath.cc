#include "sys/write_beneath.h"

#include <atomic>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/unique_fd.h"
#include "sys/guest_tree.h"

namespace polybox::sys {
namespace {

/// Opens the directory for the last component of `path`, and makes missing directories.
Result<UniqueFd> MakeParents(int directory, std::string_view path) {
  POLYBOX_ASSIGN_OR_RETURN(UniqueFd folder, OpenBeneath(directory, ".", O_RDONLY | O_DIRECTORY));
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/')) {
    const std::string name(path.substr(0, slash));
    path.remove_prefix(slash + 1);
    if (::mkdirat(folder.get(), name.c_str(), 0755) != 0 && errno != EEXIST) {
      return Error::FromErrno("make a directory");
    }
    POLYBOX_ASSIGN_OR_RETURN(folder, OpenBeneath(folder.get(), name, O_RDONLY | O_DIRECTORY));
  }
  return folder;
}

Result<UniqueFd> Create(int folder, const std::string& name) {
  return OpenBeneath(folder, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
}

std::string TemporaryName() {
  static std::atomic<unsigned> counter = 0;
  return fmt::format(".polybox-output-{}-{}", ::getpid(), counter++);
}

Status WriteNew(int folder, const std::string& name, std::string_view content) {
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd file, Create(folder, name));
  Status written = WriteAll(file.get(), content);
  if (!written.ok()) ::unlinkat(folder, name.c_str(), 0);
  return written;
}

Status Replace(int folder, const std::string& name, std::string_view content) {
  struct stat info{};
  const bool exists = ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && !S_ISREG(info.st_mode)) return Error::FromErrno("replace", EEXIST);
  const std::string temporary = TemporaryName();
  POLYBOX_RETURN_IF_ERROR(WriteNew(folder, temporary, content));
  if (::renameat(folder, temporary.c_str(), folder, name.c_str()) == 0) return {};
  Error error = Error::FromErrno("put the file in place");
  ::unlinkat(folder, temporary.c_str(), 0);
  return error;
}

}  // namespace

Status WriteBeneath(int directory, const std::string& path, std::string_view content,
                    Existing existing) {
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd folder, MakeParents(directory, path));
  const std::string name = path.substr(path.rfind('/') + 1);
  return existing == Existing::kReplace ? Replace(folder.get(), name, content)
                                        : WriteNew(folder.get(), name, content);
}

}  // namespace polybox::sys
