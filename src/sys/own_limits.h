// The resource limits and capabilities of this process.
#pragma once

#include "base/result.h"

namespace polybox::sys {

/// Raises this process's soft limit of open files to its hard limit. The usual soft limit of 1024
/// is for programs that use select(); a server needs several descriptors for each tunnel. Code that
/// starts another program must set that program's own limit. Call once, before there are threads.
Status RaiseOpenFiles();

/// Returns whether this process has the capability (CAP_*) `number`, which must be below 32.
bool HasCapability(int number);

}  // namespace polybox::sys
