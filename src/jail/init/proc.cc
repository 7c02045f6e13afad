// The /proc of a cell: it shows the cell's PID namespace, and of the host no more than programs
// need.
#include "jail/init/proc.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <span>
#include <unistd.h>
#include <utility>

#include <sys/mount.h>
#include <sys/stat.h>

#include "jail/init/ids.h"
#include "jail/init/raw.h"

namespace polybox::jail::init {
namespace {

constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

// World-readable files that tell about the host and that no program needs. Each is covered by an
// empty file or directory. Files that only the host's root may read (kcore, kmsg, timer_list,
// sysrq-trigger, ...) are closed anyway, since that root has no uid in the jail.
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
    // A guest can change these and another guest can read them, so two guests could communicate.
    {"/proc/locks", kNoFile},  // the kernel lists locks of open files of all namespaces
    {"/proc/modules", kNoFile},
    {"/proc/softirqs", kNoFile},
    {"/proc/schedstat", kNoFile},
    {"/proc/vmstat", kNoFile},
    {"/proc/zoneinfo", kNoFile},
    {"/proc/buddyinfo", kNoFile},
    {"/proc/fs", kNoDirectory},      // block allocation of the host's file systems
    {"/proc/sys/fs", kNoDirectory},  // files, inodes and names in use
};
// The kernel shows the keys of the users that the reader's namespace knows. Where the slot's users
// are its own alone, they have no keys: guests may not make any.
constexpr Mask kMaskedWhereUsersAreShared[] = {
    {"/proc/keys", kNoFile},
    {"/proc/key-users", kNoFile},
};

// For guests with the uid of a user of the host, perhaps root: the kernel lets that uid write or
// read these without any capability.
constexpr Mask kMaskedFromHostIds[] = {
    {"/proc/keys", kNoFile},          {"/proc/key-users", kNoFile},
    {"/proc/sysrq-trigger", kNoFile}, {"/proc/kcore", kNoFile},
    {"/proc/kmsg", kNoFile},          {"/proc/timer_list", kNoFile},
    {"/proc/vmallocinfo", kNoFile},   {"/proc/slabinfo", kNoFile},
    {"/proc/pagetypeinfo", kNoFile},  {"/proc/kpagecount", kNoFile},
    {"/proc/kpageflags", kNoFile},    {"/proc/kpagecgroup", kNoFile},
    {"/proc/iomem", kNoFile},         {"/proc/ioports", kNoFile},
    {"/proc/mtrr", kNoFile},          {"/proc/irq", kNoDirectory},
    {"/proc/acpi", kNoDirectory},     {"/proc/scsi", kNoDirectory},
    {"/proc/driver", kNoDirectory},   {"/proc/asound", kNoDirectory},
    {"/proc/sys", kNoDirectory},
};

// The links whose inodes live as long as the mount. Each has the time when a process first followed
// it.
constexpr const char* kLinks[] = {"/proc/self", "/proc/thread-self"};

bool IsBefore(const timespec& one, const timespec& other) {
  return std::pair(one.tv_sec, one.tv_nsec) < std::pair(other.tv_sec, other.tv_nsec);
}

/// Covers the files. A file that the kernel does not have is no error.
int Cover(std::span<const Mask> masks) {
  for (const auto& [path, cover] : masks) {
    const long covered = Raw(SYS_mount, cover, path, nullptr, MS_BIND, nullptr);
    if (covered < 0 && covered != -ENOENT) return static_cast<int>(-covered);
  }
  return 0;
}

}  // namespace

int MountProc() {
  // hidepid=2 hides the processes of other users, among them the init, whose usage tells about the
  // children that it has reaped.
  const long mounted = Raw(SYS_mount, "proc", "/proc", "proc", kFlags, "hidepid=2");
  if (mounted < 0) return static_cast<int>(-mounted);
  if (const int error = Cover(kMasked)) return error;
  return SharesUsers() ? Cover(kMaskedWhereUsersAreShared) : 0;
}

int GuardProc() {
  if (const int error = Cover(kMaskedFromHostIds)) return error;
  constexpr unsigned long kReadOnly = MS_REMOUNT | MS_BIND | MS_RDONLY | kFlags;
  const long mounted = Raw(SYS_mount, nullptr, "/proc", nullptr, kReadOnly, nullptr);
  return mounted < 0 ? static_cast<int>(-mounted) : 0;
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
  // On a remount the kernel forgets all other inodes of the file system. The mount itself stays.
  return ::mount("", "/proc", "", MS_REMOUNT | kFlags, "") == 0;
}

void UnmountProc() {
  ::umount2("/proc", MNT_DETACH);
}

}  // namespace polybox::jail::init
