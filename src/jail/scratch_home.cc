#include "jail/scratch_home.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "jail/init/remove.h"
#include "sys/cgroup_slot.h"

namespace polybox::jail {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBetween = "-slot-";

/// An absolute path: guests get it as their working directory.
std::string Base() {
  const char* chosen = std::getenv("TMPDIR");
  const std::string base = chosen == nullptr ? "" : chosen;
  std::error_code error;
  const fs::path real = fs::canonical(base.starts_with('/') ? base : "/tmp", error);
  return error ? "/tmp" : real.string();
}

void RemoveHome(int base, const std::string& name, int home) {
  // Its parts were closed to all but the guests.
  for (const char* part : {"sandbox", "tmp"}) (void)UniqueFd(init::OpenClosed(home, part));
  if (init::RemoveContents(home) == 0) ::unlinkat(base, name.c_str(), AT_REMOVEDIR);
}

/// The server that made it, from the part of its name that is like a cgroup's.
bool IsLeftover(const std::string& name) {
  const std::size_t between = name.rfind(kBetween);
  if (between == std::string::npos) return false;
  const std::string number = name.substr(between + kBetween.size());
  const bool numbered =
      !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  return numbered && sys::IsOfDeadServer(name.substr(0, between));
}

}  // namespace

Result<ScratchHome> ScratchHome::Make(unsigned number, Visitors visitors) {
  POLYBOX_ASSIGN_OR_RETURN(const std::string server, sys::CgroupHomeName());
  const std::string path = fmt::format("{}/{}{}{}", Base(), server, kBetween, number);
  if (::mkdir(path.c_str(), S_IRWXU) != 0) return Error::FromErrno("make " + path);
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
