#include "workspace/protected_scan.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <dirent.h>
#include <fcntl.h>
#include <memory>

#include <linux/openat2.h>

#include "sys/open_below.h"

namespace polybox::workspace {
namespace {

std::string Join(const std::string& directory, std::string_view name) {
  return directory.empty() ? std::string(name) : directory + "/" + std::string(name);
}

/// The bulk of a repository. No program looks for hooks or settings in these directories.
bool IsStoreOfGit(const std::string& path) {
  for (const char* store : {".git/objects", ".git/refs", ".git/logs"}) {
    if (path.ends_with(store)) return true;
  }
  return false;
}

class Scan {
 public:
  Scan(int root, const ProtectionRules& rules, const ScanVisitor& visitor)
      : root_(root), rules_(rules), visitor_(visitor) {}

  void Run(const std::string& start) {
    waiting_.push_back(start);
    std::size_t count = 0;
    for (; !waiting_.empty() && count < kMostDirectories; ++count) {
      const std::string path = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_bytes_ -= std::min(waiting_bytes_, path.size());
      Enter(path);
    }
    if (!waiting_.empty() || has_dropped_) visitor_.incomplete();
  }

 private:
  void EnterLater(std::string path) {
    if (waiting_bytes_ + path.size() > kMostWaitingBytes) {
      has_dropped_ = true;
      return;
    }
    waiting_bytes_ += path.size();
    waiting_.push_back(std::move(path));
  }

  void Enter(const std::string& path) {
    Result<UniqueFd> opened = OpenInTree(root_, path, O_RDONLY | O_DIRECTORY);
    if (!opened.ok()) {
      // Another process has removed or replaced the directory.
      const int error = opened.error().system_errno();
      if (error != ENOENT && error != ENOTDIR) visitor_.unread(path);
      return;
    }
    visitor_.enters(path, opened->get());
    const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(opened->release()), ::closedir);
    while (const dirent* entry = list ? ::readdir(list.get()) : nullptr) Look(path, *entry);
  }

  void Look(const std::string& directory, const dirent& entry) {
    const std::string_view name = entry.d_name;
    if (name == "." || name == "..") return;
    const bool may_be_directory = entry.d_type == DT_DIR || entry.d_type == DT_UNKNOWN;
    const bool may_be_link = entry.d_type == DT_LNK || entry.d_type == DT_UNKNOWN;
    const bool may_be_protected = may_be_link || rules_.CouldEndWith(name);
    if (!may_be_directory && !may_be_protected) return;
    const std::string path = Join(directory, name);
    bool enters = may_be_directory && !IsStoreOfGit(path);
    if (may_be_protected) {
      LookAtProtected(root_, path, rules_, [&](ProtectedFile file) {
        enters &= file.rule.extent == ProtectedPath::Extent::kItself;
        visitor_.found(std::move(file));
      });
    }
    if (enters) EnterLater(path);
  }

  const int root_;
  const ProtectionRules& rules_;
  const ScanVisitor& visitor_;
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool has_dropped_ = false;
};

}  // namespace

Result<UniqueFd> OpenInTree(int root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if ((flags & O_PATH) != 0) how.flags &= ~static_cast<std::uint64_t>(O_NONBLOCK);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  UniqueFd fd(sys::OpenBelow(root, path.empty() ? "." : path.c_str(), how));
  if (!fd.valid()) return Error::FromErrno("open " + path);
  return fd;
}

void LookAtProtected(int root, const std::string& path, const ProtectionRules& rules,
                     const std::function<void(ProtectedFile)>& found) {
  const Result<UniqueFd> entry = OpenInTree(root, path, O_PATH);
  struct stat info{};
  if (!entry.ok() || ::fstat(entry->get(), &info) != 0) return;
  auto rule = S_ISLNK(info.st_mode) ? rules.FindForLink(path) : rules.Find(path);
  if (rule) found({path, std::move(*rule), info});
}

void ScanProtected(int root, const std::string& start, const ProtectionRules& rules,
                   const ScanVisitor& visitor) {
  Scan(root, rules, visitor).Run(start);
}

}  // namespace polybox::workspace
