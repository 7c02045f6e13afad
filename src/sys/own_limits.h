// What the kernel lets this process have.
#pragma once

#include "base/result.h"

namespace polybox::sys {

/// Lets us have as many open files as we may at most: the usual 1024 is for programs that still use
/// select(), and a server with tunnels has several for each. Whoever starts a program for others
/// gives it a limit of its own. Once, before there are threads.
Status RaiseOpenFiles();

}  // namespace polybox::sys
