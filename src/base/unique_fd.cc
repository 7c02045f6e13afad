#include "base/unique_fd.h"

#include <unistd.h>

namespace polybox {

void UniqueFd::reset(int fd) {
  const int old = std::exchange(fd_, fd);
  if (old >= 0) ::close(old);
}

}  // namespace polybox
