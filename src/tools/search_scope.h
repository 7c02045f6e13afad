// Where Glob, Grep and List look: the argument `path`, and how to walk below it. Any thread.
#pragma once

#include <string>
#include <string_view>

#include <sys/stat.h>

#include "base/result.h"
#include "tools/context.h"
#include "tools/file_target.h"
#include "workspace/file_walk.h"

namespace polybox::tools {

/// The entry at which a search starts.
struct SearchScope {
  workspace::Place place;
  struct stat info{};

  bool IsDirectory() const { return S_ISDIR(info.st_mode); }
};

/// Finds the entry; `path` "" is the root. Fails with "resolve path: ..." or "stat path: ...".
Result<SearchScope> FindScope(const WorkspaceCall& call, std::string_view path);

/// The same, and fails with "path is not a directory: ..." for anything else.
Result<SearchScope> FindDirectory(const WorkspaceCall& call, std::string_view path);

/// Returns options with the caller's stop token and a deadline that an agent will wait for.
workspace::FileWalkOptions WalkOptionsFor(const Context& context);

}  // namespace polybox::tools
