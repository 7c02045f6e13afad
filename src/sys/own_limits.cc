#include "sys/own_limits.h"

#include <sys/resource.h>

namespace polybox::sys {

Status RaiseOpenFiles() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return Error::FromErrno("read the file limit");
  files.rlim_cur = files.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &files) != 0) return Error::FromErrno("raise the file limit");
  return {};
}

}  // namespace polybox::sys
