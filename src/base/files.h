// Whole-file reading and writing of trusted host files: settings, language files, caches. Never for
// a path that a guest can write.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"

namespace polybox {

/// open(2), close-on-exec. The error names the path.
Result<UniqueFd> OpenFile(const std::string& path, int flags, unsigned mode = 0);

/// Reads everything from `fd` (borrowed), at most `largest`; more is an error.
Result<std::string> ReadAll(int fd, Bytes largest);
Result<std::string> ReadFile(const std::string& path, Bytes largest = Bytes::MiB(16));

Status WriteAll(int fd, std::string_view data);
/// Replaces the file in one step: a reader sees the old content or the new, never a part, also
/// after a crash. The directory must exist.
Status ReplaceFile(const std::string& path, std::string_view content);

}  // namespace polybox
