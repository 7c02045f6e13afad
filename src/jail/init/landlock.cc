#include "jail/init/landlock.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <utility>

#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace polybox::jail::init {
namespace {

/// The kernel's own structure, as of the newest ABI that this file knows. Older kernels take only
/// the beginning of it.
struct Attributes {
  std::uint64_t files;
  std::uint64_t network;
  std::uint64_t scopes;
};

/// Returns how much of the structure a kernel with this ABI knows.
std::size_t SizeFor(int abi) {
  if (abi < 4) return offsetof(Attributes, network);
  return abi < 6 ? offsetof(Attributes, scopes) : sizeof(Attributes);
}

int Abi() {
  return static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
}

/// Grants rights on the whole file system.
bool AllowEverywhere(int ruleset, std::uint64_t rights) {
  const UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return false;
  landlock_path_beneath_attr attributes{};
  attributes.parent_fd = root.get();
  attributes.allowed_access = rights;
  return ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attributes, 0U) ==
         0;
}

}  // namespace

int Ruleset::Make(const Bare& bare, int& index) {
  paths_.clear();
  fd_.reset();
  index = -1;
  const int abi = Abi();
  if (abi < 0) return errno;
  const Handled handled = HandledBy(abi);
  const Attributes attributes = {handled.files, handled.network, handled.scopes};
  fd_.reset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, SizeFor(abi), 0U)));
  if (!fd_.valid()) return errno;
  for (std::size_t i = 0; i < bare.rules.size(); ++i) {
    if (const int error = Add(bare, bare.rules[i], handled.files)) {
      index = static_cast<int>(i);
      return error;
    }
  }
  return 0;
}

int Ruleset::Add(const Bare& bare, const PathRule& rule, std::uint64_t handled) {
  const std::string path = rule.path.starts_with('/') ? rule.path : bare.home + "/" + rule.path;
  UniqueFd opened(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!opened.valid()) return errno == ENOENT ? 0 : errno;
  const int fd = paths_.emplace_back(std::move(opened)).get();
  struct stat info{};
  if (::fstat(fd, &info) != 0) return errno;
  landlock_path_beneath_attr attributes{};
  attributes.parent_fd = fd;
  attributes.allowed_access = rule.rights & handled;
  if (!S_ISDIR(info.st_mode)) attributes.allowed_access &= kOfFiles;
  const long added =
      ::syscall(SYS_landlock_add_rule, fd_.get(), LANDLOCK_RULE_PATH_BENEATH, &attributes, 0U);
  return added == 0 ? 0 : errno;
}

bool KeepSignalsInside() {
  constexpr std::uint64_t kSignals = 2;
  if ((HandledBy(Abi()).scopes & kSignals) == 0) return false;
  // A domain that does not mention kRefer refuses it as soon as a domain inside handles files.
  // Then no guest could move a file to another directory.
  const Attributes attributes = {kRefer, 0, kSignals};
  const UniqueFd fd(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0U)));
  if (!fd.valid()) return false;
  const bool entered = AllowEverywhere(fd.get(), kRefer) &&
                       ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                       ::syscall(SYS_landlock_restrict_self, fd.get(), 0U) == 0;
  // The caller relies on this for kill(-1): a kernel that only claims to support it would kill
  // every process of the user.
  return entered && ::kill(::getppid(), 0) != 0 && errno == EPERM;
}

}  // namespace polybox::jail::init
