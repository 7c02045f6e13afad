// Reads and writes whole files of the host that are trusted: settings, language files, caches. Must
// not be used for a path that a guest can write. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"

namespace polybox {

/// Calls open(2) with close-on-exec. The error contains the path.
Result<UniqueFd> OpenFile(const std::string& path, int flags, unsigned mode = 0);

/// Reads everything from `fd` (borrowed). More than `largest` is an error.
Result<std::string> ReadAll(int fd, Bytes largest);
/// Reads a whole file. More than `largest` is an error. The error contains the path.
Result<std::string> ReadFile(const std::string& path, Bytes largest = Bytes::MiB(16));

/// Writes all of `data` to `fd` (borrowed).
Status WriteAll(int fd, std::string_view data);
/// Replaces the file in one step: even after a crash a reader sees the old content or the new,
/// never a part. The directory must exist. The file becomes readable for all users (mode 0644).
Status ReplaceFile(const std::string& path, std::string_view content);

}  // namespace polybox
