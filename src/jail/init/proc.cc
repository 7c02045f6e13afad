// The /proc of a pod: of its PID namespace, and of the host no more than programs need.
#include <algorithm>
#include <cerrno>
#include <iterator>
#include <span>
#include <unistd.h>
#include <utility>

#include <sys/mount.h>
#include <sys/stat.h>

#include "jail/init/raw.h"
#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

// World-readable, tells about the host, and no program needs it: bound over with an empty file or
// directory. What only the host's root may read (kcore, kmsg, timer_list, sysrq-trigger, ...) is
// closed anyway: that root has no uid in here.
struct Mask {
  const char* path;
  const char* cover;
};
constexpr const char* kNoFile = "/.empty";
constexpr const char* kNoDirectory = "/.kept";
constexpr Mask kMasked[] = {
    {"/proc/kallsyms", kNoFile},
    {"/proc/config.gz", kNoFile},
    {"/proc/cmdline", kNoFile},
    {"/proc/interrupts", kNoFile},
    {"/proc/diskstats", kNoFile},
    {"/proc/partitions", kNoFile},
    {"/proc/bus", kNoDirectory},
    {"/proc/pressure", kNoDirectory},
    {"/proc/sys/kernel/random/boot_id", kNoFile},
};
// The kernel shows the keys of those users that the reader's namespace knows. Where these are ours
// alone, there are none: guests may not make any.
constexpr Mask kMaskedWhereUsersAreShared[] = {
    {"/proc/keys", kNoFile},
    {"/proc/key-users", kNoFile},
};

// Those that are there for as long as it is mounted. They have the time when somebody first
// followed them.
constexpr const char* kLinks[] = {"/proc/self", "/proc/thread-self"};

bool IsBefore(const timespec& one, const timespec& other) {
  return std::pair(one.tv_sec, one.tv_nsec) < std::pair(other.tv_sec, other.tv_nsec);
}

int Cover(std::span<const Mask> masks) {
  for (const auto& [path, cover] : masks) {
    const long covered = Raw(SYS_mount, cover, path, nullptr, MS_BIND, nullptr);
    if (covered < 0 && covered != -ENOENT) return static_cast<int>(-covered);
  }
  return 0;
}

}  // namespace

int MountProc() {
  // Processes of others are not shown: an init tells what those used that it has reaped.
  const long mounted = Raw(SYS_mount, "proc", "/proc", "proc", kFlags, "hidepid=2");
  if (mounted < 0) return static_cast<int>(-mounted);
  if (const int error = Cover(kMasked)) return error;
  return SharesUsers() ? Cover(kMaskedWhereUsersAreShared) : 0;
}

void ProcLinks::Look() {
  will_change_ = false;
  for (std::size_t i = 0; i < std::size(kLinks); ++i) {
    struct stat info{};
    if (::lstat(kLinks[i], &info) != 0) continue;
    followed_[i] = info.st_atim;
    will_change_ = will_change_ || !IsBefore(info.st_mtim, info.st_atim);
  }
}

void ProcLinks::Settle() {
  if (!will_change_ || !AreAsTheyWere()) return;
  char ignored[32];
  for (const char* link : kLinks) (void)!::readlink(link, ignored, sizeof ignored);
  Look();
}

bool ProcLinks::AreAsTheyWere() const {
  ProcLinks now;
  now.Look();
  return std::ranges::equal(followed_, now.followed_, [](const timespec& a, const timespec& b) {
    return !IsBefore(a, b) && !IsBefore(b, a);
  });
}

bool ForgetLooksAtProc(ProcLinks& links) {
  if (!links.AreAsTheyWere()) return false;
  links.Settle();
  // Of a file system that is to be mounted in another way the kernel forgets all else, though it
  // stays the same.
  return ::mount("", "/proc", "", MS_REMOUNT | kFlags, "") == 0;
}

void UnmountProc() {
  ::umount2("/proc", MNT_DETACH);
}

}  // namespace polybox::jail::init
