// A pipe that owns both its ends.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace polybox::sys {

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

/// Both ends close-on-exec.
Result<Pipe> MakePipe();

/// From here on a read or write that would wait fails with EAGAIN instead.
void SetNonBlocking(int fd);

}  // namespace polybox::sys
