// Writes all of a file of a workspace: a new file, or new content for one that the caller has seen.
// Protected files, and files that have changed since the caller read them, are refused. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "tools/context.h"
#include "tools/file_target.h"

namespace polybox::tools {

struct WrittenFile {
  /// From the root of the workspace.
  std::string path = {};
  std::int64_t bytes = 0;
  bool created = false;
};

/// Returns the new content. `old_content` is null for a new file.
using ContentFor = std::function<std::string(const std::string* old_content)>;

/// Writes the file in one step and marks it as seen. The caller holds Workspace::writes().
Result<WrittenFile> WriteWholeFile(const Context& context, const WorkspaceCall& call,
                                   const std::string& argument, const ContentFor& content);

/// Fails as WriteWholeFile() would, and writes nothing. For tools that need long to make a content.
Status CheckWholeFile(const Context& context, const WorkspaceCall& call,
                      const std::string& argument);

}  // namespace polybox::tools
