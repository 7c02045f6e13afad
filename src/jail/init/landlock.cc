#include "jail/init/landlock.h"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace polybox::jail::init {
namespace {

/// The kernel's own structure, as long as the newest ABI that we know; older kernels take its
/// beginning.
struct Attributes {
  std::uint64_t files;
  std::uint64_t network;
  std::uint64_t scopes;
};

std::size_t SizeFor(int abi) {
  if (abi < 4) return offsetof(Attributes, network);
  return abi < 6 ? offsetof(Attributes, scopes) : sizeof(Attributes);
}

}  // namespace

int Ruleset::Make(const Bare& bare, int& index) {
  Close();
  index = -1;
  const auto abi = static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
  if (abi < 0) return errno;
  const Handled handled = HandledBy(abi);
  const Attributes attributes = {handled.files, handled.network, handled.scopes};
  fd_ = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, SizeFor(abi), 0U));
  if (fd_ < 0) return errno;
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
  const int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? 0 : errno;
  paths_.push_back(fd);
  struct stat info{};
  if (::fstat(fd, &info) != 0) return errno;
  landlock_path_beneath_attr attributes{};
  attributes.parent_fd = fd;
  attributes.allowed_access = rule.rights & handled;
  if (!S_ISDIR(info.st_mode)) attributes.allowed_access &= kOfFiles;
  const long added =
      ::syscall(SYS_landlock_add_rule, fd_, LANDLOCK_RULE_PATH_BENEATH, &attributes, 0U);
  return added == 0 ? 0 : errno;
}

void Ruleset::Close() {
  for (const int fd : paths_) ::close(fd);
  paths_.clear();
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace polybox::jail::init
