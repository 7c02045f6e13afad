// The processes of a slot, as the host sees them.
#pragma once

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/types.h>

#include "base/files.h"

namespace polybox::jail {

/// Returns the children of a process with one thread.
inline std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::istringstream text(
      ReadFile(fmt::format("/proc/{0}/task/{0}/children", parent)).value_or(""));
  std::vector<pid_t> children;
  for (pid_t pid = 0; text >> pid;) children.push_back(pid);
  return children;
}

/// Returns the child of a process that has this name; -1 when there is none.
inline pid_t ChildNamed(pid_t parent, const std::string& name) {
  for (const pid_t pid : ChildrenOf(parent)) {
    if (ReadFile(fmt::format("/proc/{}/comm", pid)).value_or("") == name + "\n") return pid;
  }
  return -1;
}

}  // namespace polybox::jail
