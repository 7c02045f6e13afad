#include "jail/scratch_home.h"

#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "jail/init/remove.h"
#include "sys/cgroup_slot.h"
#include "sys/temporary.h"

namespace polybox::jail {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBetween = "-slot-";
constexpr std::string_view kBase = "-base";

/// Returns $TMPDIR or /tmp as an absolute path: guests get it as part of their working directory.
std::string Base() {
  const std::string base = sys::TemporaryDirectory();
  return base.empty() ? "/tmp" : base;
}

/// Removes the directory `name` in `base`, which is open at `home`, with all its content.
void RemoveHome(int base, const std::string& name, int home) {
  // The guests' directories may be closed to the server. OpenClosed() sets modes that let it in.
  for (const char* part : {"sandbox", "tmp"}) (void)UniqueFd(init::OpenClosed(home, part));
  if (init::RemoveContents(home) == 0) ::unlinkat(base, name.c_str(), AT_REMOVEDIR);
}

/// Returns whether the server that made the directory is dead. The first part of the name
/// identifies the server in the same way as the name of its cgroup.
bool IsLeftover(const std::string& name) {
  if (name.ends_with(kBase)) {
    return sys::IsOfDeadServer(std::string_view(name).substr(0, name.size() - kBase.size()));
  }
  const std::size_t between = name.rfind(kBetween);
  if (between == std::string::npos) return false;
  const std::string number = name.substr(between + kBetween.size());
  const bool numbered =
      !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  return numbered && sys::IsOfDeadServer(name.substr(0, between));
}

}  // namespace

Result<ScratchHome> ScratchHome::Make(unsigned number, Visitors visitors) {
  return MakeNamed(fmt::format("{}{}", kBetween, number), visitors);
}

Result<ScratchHome> ScratchHome::MakeForBase() {
  POLYBOX_ASSIGN_OR_RETURN(ScratchHome home, MakeNamed(kBase, Visitors::kOtherUids));
  const std::string inner = home.base_path();
  if (::mkdir(inner.c_str(), S_IRWXU) != 0) return Error::FromErrno("make " + inner);
  return home;
}

Result<ScratchHome> ScratchHome::MakeNamed(std::string_view suffix, Visitors visitors) {
  POLYBOX_ASSIGN_OR_RETURN(const std::string server, sys::CgroupHomeName());
  const std::string path = fmt::format("{}/{}{}", Base(), server, suffix);
  if (::mkdir(path.c_str(), S_IRWXU) != 0) {
    return Error::FromErrno("make " + path)
        .WithFix("name a directory in which polybox may write with TMPDIR");
  }
  UniqueFd lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!lock.valid()) return Error::FromErrno("open " + path);
  ScratchHome home(path, std::move(lock));
  if (::flock(home.lock_.get(), LOCK_SH | LOCK_NB) != 0) return Error::FromErrno("lock " + path);
  constexpr mode_t kEnter = S_IRWXU | S_IXGRP | S_IXOTH;
  if (visitors == Visitors::kOtherUids && ::fchmod(home.lock_.get(), kEnter) != 0) {
    return Error::FromErrno("open up " + path);
  }
  return home;
}

ScratchHome::ScratchHome(ScratchHome&& other) noexcept
    : path_(std::exchange(other.path_, "")), lock_(std::move(other.lock_)) {}

ScratchHome::~ScratchHome() {
  if (!path_.empty()) RemoveHome(AT_FDCWD, path_, lock_.get());
}

/// Only directories of this uid are removed, and only those whose lock no process holds.
int SweepScratchHomes() {
  int removed = 0;
  const UniqueFd base(::open(Base().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!base.valid()) return 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(Base(), error)) {
    const std::string name = entry.path().filename().string();
    if (!IsLeftover(name)) continue;
    const UniqueFd home(
        ::openat(base.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info{};
    if (!home.valid() || ::fstat(home.get(), &info) != 0 || info.st_uid != ::geteuid()) continue;
    if (::flock(home.get(), LOCK_EX | LOCK_NB) != 0) continue;
    RemoveHome(base.get(), name, home.get());
    ++removed;
  }
  return removed;
}

}  // namespace polybox::jail
