#include "sys/own_limits.h"

#include <unistd.h>

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>

namespace polybox::sys {

Status RaiseOpenFiles() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return Error::FromErrno("read the file limit");
  files.rlim_cur = files.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &files) != 0) return Error::FromErrno("raise the file limit");
  return {};
}

bool HasCapability(int number) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  return ::syscall(SYS_capget, &header, data) == 0 && (data[0].permitted >> number & 1U) != 0;
}

}  // namespace polybox::sys
