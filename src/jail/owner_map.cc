#include "jail/owner_map.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <linux/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/files.h"
#include "base/scope_exit.h"

namespace polybox::jail {
namespace {

/// Adds lines for the ids from `first` up to `end` that leave them as they are, without those of
/// `ranges` that do not exist.
void KeepIds(const std::vector<sys::IdRange>& ranges, std::uint64_t first, std::uint64_t end,
             std::string& map) {
  for (const sys::IdRange& range : ranges) {
    const std::uint64_t begin = std::max<std::uint64_t>(first, range.first);
    const std::uint64_t stop =
        std::min<std::uint64_t>(end, std::uint64_t{range.first} + range.count);
    if (begin < stop) map += fmt::format("{0} {0} {1}\n", begin, stop - begin);
  }
}

Status WriteMap(pid_t pid, const char* file, const std::string& text) {
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd fd,
                           OpenFile(fmt::format("/proc/{}/{}", pid, file), O_WRONLY));
  return WriteAll(fd.get(), text).In(fmt::format("write {}", file));
}

/// Returns a user namespace in which nothing runs. Its maps exchange `owner` and `guest`.
Result<UniqueFd> MakeNamespace(const HostIds& owner, const HostIds& guest) {
  const auto pid = static_cast<pid_t>(
      ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (pid < 0) return Error::FromErrno("make a user namespace");
  if (pid == 0) {
    // The child of a process with threads: async-signal-safe calls only. It waits for its end.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) ::pause();
  }
  const ScopeExit end([pid] {
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  });
  POLYBOX_RETURN_IF_ERROR(
      WriteMap(pid, "uid_map", ExchangeMap(sys::OwnIds("uid_map"), owner.uid, guest.uid)));
  POLYBOX_RETURN_IF_ERROR(
      WriteMap(pid, "gid_map", ExchangeMap(sys::OwnIds("gid_map"), owner.gid, guest.gid)));
  return OpenFile(fmt::format("/proc/{}/ns/user", pid), O_RDONLY);
}

}  // namespace

std::string ExchangeMap(const std::vector<sys::IdRange>& ranges, unsigned on_disk, unsigned seen) {
  const auto [low, high] = std::minmax(on_disk, seen);
  constexpr std::uint64_t kEnd = 1ULL << 32;
  std::string map;
  KeepIds(ranges, 0, low, map);
  if (low == high) {
    map += fmt::format("{0} {0} 1\n", low);
  } else {
    map += fmt::format("{} {} 1\n", low, high);
    KeepIds(ranges, std::uint64_t{low} + 1, high, map);
    map += fmt::format("{} {} 1\n", high, low);
  }
  KeepIds(ranges, std::uint64_t{high} + 1, kEnd, map);
  return map;
}

Status MapOwner(int mount, const HostIds& owner, const HostIds& guest) {
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd space, MakeNamespace(owner, guest));
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_IDMAP;
  attributes.userns_fd = static_cast<std::uint64_t>(space.get());
  if (::syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0) {
    return {};
  }
  return Error::FromErrno("map the owner of a mount");
}

Result<UniqueFd> CopyMount(const std::string& path) {
  UniqueFd fd(static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
  if (!fd.valid()) return Error::FromErrno("open the tree " + path);
  return fd;
}

Status CheckOwnerMap(const std::string& path) {
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd mount, CopyMount(path));
  const std::optional<sys::GuestIds> ids = sys::IdsForGuests();
  if (!ids) return Error(ErrorKind::kUnavailable, "there are too few uids for guests");
  return MapOwner(mount.get(), {0, 0}, {ids->owner, ids->owner});
}

}  // namespace polybox::jail
