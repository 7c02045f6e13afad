#include "snapshots/scan.h"

#include <climits>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/files.h"
#include "sys/guest_tree.h"
#include "workspace/file_walk.h"
#include "workspace/system_text.h"

namespace polybox::snapshots {
namespace {

using workspace::FileWalkEntry;
using workspace::Next;

/// A file that grows while it is read is read again. A log that grows all the time is saved as it
/// was at one of the reads.
constexpr int kAttempts = 3;

std::string_view KindOf(mode_t mode) {
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

/// Returns whether the directory has an entry ".git" of any kind.
bool IsRepository(const FileWalkEntry& entry) {
  const Result<UniqueFd> directory =
      sys::OpenBeneath(entry.directory, entry.name, O_RDONLY | O_DIRECTORY);
  struct stat info{};
  return directory.ok() && ::fstatat(directory->get(), ".git", &info, AT_SYMLINK_NOFOLLOW) == 0;
}

bool SameContent(const struct stat& before, const struct stat& after) {
  return before.st_size == after.st_size && before.st_mtim.tv_sec == after.st_mtim.tv_sec &&
         before.st_mtim.tv_nsec == after.st_mtim.tv_nsec;
}

struct ReadFile {
  std::string content;
  struct stat info{};
};

/// Reads a plain file, again if it changes meanwhile.
Result<ReadFile> ReadPlain(const FileWalkEntry& entry) {
  ReadFile file;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    POLYBOX_ASSIGN_OR_RETURN(const UniqueFd fd,
                             sys::OpenBeneath(entry.directory, entry.name, O_RDONLY));
    if (::fstat(fd.get(), &file.info) != 0) return Error::FromErrno("stat");
    if (!S_ISREG(file.info.st_mode)) return Error::FromErrno("open", EAGAIN);
    POLYBOX_ASSIGN_OR_RETURN(file.content, ReadAll(fd.get(), kLargestFile));
    struct stat after{};
    if (::fstat(fd.get(), &after) == 0 && SameContent(file.info, after)) break;
  }
  return file;
}

/// The visitor of one walk. One thread.
class Scanner {
 public:
  explicit Scanner(const ContentSink& keep) : keep_(keep) {}

  Next Visit(const FileWalkEntry& entry) {
    if (failure_.ok()) failure_ = Take(entry);
    if (!failure_.ok()) return Next::kEnd;
    return scan_.left_out.contains(entry.path) ? Next::kSkip : Next::kContinue;
  }

  Result<Scan> Finish() {
    POLYBOX_RETURN_IF_ERROR(failure_);
    return std::move(scan_);
  }

 private:
  Status Take(const FileWalkEntry& entry) {
    const mode_t mode = entry.info.st_mode;
    if (S_ISDIR(mode)) {
      if (IsRepository(entry)) LeaveOut(entry, "a repository of its own");
      return {};
    }
    if (S_ISLNK(mode)) return TakeLink(entry);
    if (S_ISREG(mode)) return TakeFile(entry);
    LeaveOut(entry, std::string(KindOf(mode)));
    return {};
  }

  Status TakeLink(const FileWalkEntry& entry) {
    char target[PATH_MAX];
    const ssize_t size = ::readlinkat(entry.directory, entry.name.c_str(), target, sizeof target);
    if (size < 0) {
      LeaveOut(entry, workspace::SystemText(errno));
      return {};
    }
    return Add(entry, EntryMode::kLink, {target, static_cast<std::size_t>(size)});
  }

  Status TakeFile(const FileWalkEntry& entry) {
    const auto size = static_cast<std::uint64_t>(entry.info.st_size);
    if (size > kLargestFile.count()) {
      LeaveOut(entry, fmt::format("{} bytes, over {}", size, FormatBytes(kLargestFile)));
      return {};
    }
    const Result<ReadFile> file = ReadPlain(entry);
    if (!file.ok()) {
      const int error = file.error().system_errno();
      LeaveOut(entry, error == 0 ? file.error().message() : workspace::SystemText(error));
      return {};
    }
    const bool executable = (file->info.st_mode & S_IXUSR) != 0;
    return Add(entry, executable ? EntryMode::kExecutable : EntryMode::kFile, file->content);
  }

  Status Add(const FileWalkEntry& entry, EntryMode mode, std::string_view content) {
    total_ += content.size();
    if (scan_.files.size() >= kMostFiles || total_ > kMostContent.count()) {
      return Error(ErrorKind::kInvalid,
                   fmt::format("the project has more than {} files or {} that no ignore file names",
                               kMostFiles, FormatBytes(kMostContent)))
          .WithFix("name directories of dependencies and build results in .gitignore");
    }
    const ObjectId id = IdOf(ObjectType::kBlob, content);
    if (keep_) POLYBOX_RETURN_IF_ERROR(keep_(id, content));
    scan_.files.emplace(entry.path, FileState{mode, id});
    return {};
  }

  void LeaveOut(const FileWalkEntry& entry, std::string why) {
    scan_.left_out.emplace(entry.path, std::move(why));
  }

  const ContentSink& keep_;
  Scan scan_;
  std::uint64_t total_ = 0;
  Status failure_;
};

/// Walks all that git would add. Fails if the walk could not see everything it could have seen.
Status Walk(const workspace::Workspace& workspace, std::stop_token stop,
            const std::function<Next(const FileWalkEntry&)>& visit,
            std::map<std::string, std::string>* left_out) {
  POLYBOX_ASSIGN_OR_RETURN(const workspace::Place root, workspace::Resolve(workspace.root(), ""));
  const workspace::FileWalkOptions options = {.rules = workspace::IgnoreFiles::kOfGit,
                                              .stop = std::move(stop)};
  POLYBOX_ASSIGN_OR_RETURN(const workspace::FileWalkReport report,
                           workspace::WalkFiles(workspace.root(), root, options, visit));
  if (report.end == workspace::WalkEnd::kStopped) {
    return Error(ErrorKind::kInvalid, "stopped by the caller");
  }
  if (left_out == nullptr) return {};
  for (const std::string& unread : report.unread) {
    const std::size_t colon = unread.rfind(": ");
    left_out->emplace(unread.substr(0, colon), unread.substr(colon + 2));
  }
  if (report.unread_count > report.unread.size()) {
    return Error(ErrorKind::kSystem, fmt::format("{} directories cannot be read, such as {}",
                                                 report.unread_count, report.unread.front()));
  }
  return {};
}

}  // namespace

const std::pair<const std::string, std::string>* Scan::FindLeftOut(const std::string& path) const {
  for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
    const auto found = left_out.find(path.substr(0, end));
    if (found != left_out.end()) return &*found;
    if (end == std::string::npos) return nullptr;
  }
}

Result<Scan> ScanFiles(const workspace::Workspace& workspace, const ContentSink& keep,
                       std::stop_token stop) {
  Scanner scanner(keep);
  std::map<std::string, std::string> unread;
  POLYBOX_RETURN_IF_ERROR(Walk(
      workspace, std::move(stop), [&](const FileWalkEntry& entry) { return scanner.Visit(entry); },
      &unread));
  POLYBOX_ASSIGN_OR_RETURN(Scan scan, scanner.Finish());
  scan.left_out.merge(unread);
  return scan;
}

Result<std::set<std::string>> ListPaths(const workspace::Workspace& workspace,
                                        std::stop_token stop) {
  std::set<std::string> paths;
  const auto visit = [&](const FileWalkEntry& entry) {
    if (S_ISDIR(entry.info.st_mode)) return IsRepository(entry) ? Next::kSkip : Next::kContinue;
    paths.insert(entry.path);
    return Next::kContinue;
  };
  POLYBOX_RETURN_IF_ERROR(Walk(workspace, std::move(stop), visit, nullptr));
  return paths;
}

}  // namespace polybox::snapshots
