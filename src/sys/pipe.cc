#include "sys/pipe.h"

#include <array>
#include <fcntl.h>
#include <unistd.h>

namespace polybox::sys {

Result<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Error::FromErrno("pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void SetNonBlocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace polybox::sys
