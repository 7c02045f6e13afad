// A pipe as an object that owns both ends.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace polybox::sys {

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

/// Makes a pipe. Both ends are close-on-exec.
Result<Pipe> MakePipe();

/// Sets O_NONBLOCK on `fd` (borrowed). A read or write that would wait then fails with EAGAIN.
void SetNonBlocking(int fd);

}  // namespace polybox::sys
