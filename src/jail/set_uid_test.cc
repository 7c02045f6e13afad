// No guest can make a set-uid or set-gid file: every system call that takes a mode, with every
// mode.
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "jail/seccomp_policy.h"
#include "sys/testing/filtered_child.h"

namespace polybox::jail {
namespace {

using sys::testing::FailsWith;
using sys::testing::RunFiltered;

constexpr long kBits = S_ISUID | S_ISGID;
constexpr long kModes = 010000;
constexpr long kFchmodat2 = 452;
/// Values in the part of the register that the kernel ignores.
constexpr long kIgnored[] = {0x10000, 0xffff0000, 1L << 32, ~0xffffL};

/// A directory of the host with one file.
class Place {
 public:
  Place() {
    // A tmpfs, where every kernel can make a file without a name.
    char name[] = "/dev/shm/polybox-set-uid-XXXXXX";
    path_ = ::mkdtemp(name);
    ::close(::open(file().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  }
  ~Place() {
    ::unlink(file().c_str());
    ::unlink(other().c_str());
    ::rmdir(path_.c_str());
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  const std::string& path() const { return path_; }
  std::string file() const { return path_ + "/file"; }
  /// The path of a file that does not exist.
  std::string other() const { return path_ + "/other"; }

 private:
  std::string path_;
};

/// Makes a call with a mode. Returns whether the call succeeded.
using Way = std::function<bool(const Place&, long mode)>;

bool Opened(long descriptor) {
  if (descriptor >= 0) ::close(static_cast<int>(descriptor));
  return descriptor >= 0;
}

struct NamedWay {
  const char* name;
  Way way;
};

std::vector<NamedWay> Ways() {
  std::vector<NamedWay> ways = {
      {"fchmod",
       [](const Place& place, long mode) {
         const int fd = ::open(place.file().c_str(), O_RDONLY | O_CLOEXEC);
         const bool done = ::syscall(SYS_fchmod, fd, mode) == 0;
         ::close(fd);
         return done;
       }},
      {"fchmodat",
       [](const Place& place, long mode) {
         return ::syscall(SYS_fchmodat, AT_FDCWD, place.file().c_str(), mode) == 0;
       }},
      {"mknodat",
       [](const Place& place, long mode) {
         return ::syscall(SYS_mknodat, AT_FDCWD, place.other().c_str(), S_IFREG | mode, 0) == 0;
       }},
      {"openat with O_CREAT",
       [](const Place& place, long mode) {
         return Opened(
             ::syscall(SYS_openat, AT_FDCWD, place.other().c_str(), O_WRONLY | O_CREAT, mode));
       }},
      {"openat with O_TMPFILE",
       [](const Place& place, long mode) {
         return Opened(
             ::syscall(SYS_openat, AT_FDCWD, place.path().c_str(), O_WRONLY | O_TMPFILE, mode));
       }},
#if defined(__x86_64__)
      {"chmod", [](const Place& place,
                   long mode) { return ::syscall(SYS_chmod, place.file().c_str(), mode) == 0; }},
      {"creat",
       [](const Place& place, long mode) {
         return Opened(::syscall(SYS_creat, place.other().c_str(), mode));
       }},
      {"mknod",
       [](const Place& place, long mode) {
         return ::syscall(SYS_mknod, place.other().c_str(), S_IFREG | mode, 0) == 0;
       }},
      {"open with O_CREAT",
       [](const Place& place, long mode) {
         return Opened(::syscall(SYS_open, place.other().c_str(), O_WRONLY | O_CREAT, mode));
       }},
      {"open with O_TMPFILE",
       [](const Place& place, long mode) {
         return Opened(::syscall(SYS_open, place.path().c_str(), O_WRONLY | O_TMPFILE, mode));
       }},
#endif
  };
  if (::syscall(kFchmodat2, AT_FDCWD, "/", 0L, -1L) < 0 && errno != ENOSYS) {
    ways.push_back({"fchmodat2", [](const Place& place, long mode) {
                      return ::syscall(kFchmodat2, AT_FDCWD, place.file().c_str(), mode, 0L) == 0;
                    }});
  }
  return ways;
}

bool IsSpecial(const std::string& file) {
  struct stat status{};
  return ::stat(file.c_str(), &status) == 0 && (status.st_mode & kBits) != 0;
}

/// Returns 0 when the call fails with EPERM for each mode with one of the bits and succeeds for all
/// others. Otherwise returns which of these rules is broken.
int Try(const Place& place, const Way& way, long mode) {
  const bool done = way(place, mode);
  const int error = errno;
  if (IsSpecial(place.file()) || IsSpecial(place.other())) return 1;
  ::unlink(place.other().c_str());
  const bool refused = (mode & kBits) != 0;
  if (done == refused) return 2;
  return refused && error != EPERM ? 3 : 0;
}

int TryEveryMode(const Place& place, const Way& way) {
  for (long mode = 0; mode < kModes; ++mode) {
    if (const int broken = Try(place, way, mode)) return broken;
  }
  for (const long ignored : kIgnored) {
    for (const long bits : {0L, 0L | S_ISUID, 0L | S_ISGID, kBits}) {
      if (const int broken = Try(place, way, ignored | bits | 0755)) return broken;
    }
  }
  return 0;
}

class SetUidFiles : public testing::TestWithParam<Grade> {};

TEST_P(SetUidFiles, NoModeOfAnyCallMakesOne) {
  const auto rules = BuiltinSeccompRules(GetParam());
  ASSERT_TRUE(rules.ok()) << rules.error().message();
  const auto program = sys::CompileSeccomp(*rules);
  ASSERT_TRUE(program.ok()) << program.error().message();
  for (const NamedWay& one : Ways()) {
    const Place place;
    // Without a filter the call must succeed, or the test would show nothing.
    EXPECT_NE(RunFiltered(nullptr, [&] { return TryEveryMode(place, one.way); }), FailsWith(0))
        << one.name;
    ::chmod(place.file().c_str(), 0600);
    ::unlink(place.other().c_str());
    EXPECT_EQ(RunFiltered(&program.value(), [&] { return TryEveryMode(place, one.way); }),
              FailsWith(0))
        << one.name;
  }
}

TEST_P(SetUidFiles, TheCallsWhoseModeNoFilterCanReadDoNotExist) {
  const auto program = sys::CompileSeccomp(BuiltinSeccompRules(GetParam()).value());
  ASSERT_TRUE(program.ok()) << program.error().message();
  for (const long number : {437L /* openat2 */, 469L /* file_setattr */, 463L /* setxattrat */,
                            static_cast<long>(SYS_io_uring_setup)}) {
    EXPECT_EQ(RunFiltered(&program.value(),
                          [=] { return sys::testing::ErrnoOf(number, -1L, -1L, -1L, -1L, -1L); }),
              FailsWith(ENOSYS))
        << number;
  }
}

TEST_P(SetUidFiles, OpeningWithoutMakingAFileIgnoresTheModesRegister) {
  const auto program = sys::CompileSeccomp(BuiltinSeccompRules(GetParam()).value());
  ASSERT_TRUE(program.ok()) << program.error().message();
  for (const int flags : {O_RDONLY, O_PATH, O_RDONLY | O_DIRECTORY, O_EXCL}) {
    EXPECT_EQ(
        RunFiltered(&program.value(),
                    [=] { return sys::testing::ErrnoOf(SYS_openat, AT_FDCWD, "/", flags, ~0L); }),
        FailsWith(0))
        << flags;
  }
}

INSTANTIATE_TEST_SUITE_P(Grades, SetUidFiles, testing::Values(Grade::kFull, Grade::kLandlock));

}  // namespace
}  // namespace polybox::jail
