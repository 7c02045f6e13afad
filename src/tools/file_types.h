// The file types by which Grep can be restricted: "py" stands for "*.py" and "*.pyi". The list is
// src/tools/file-types.toml. Any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workspace/glob_pattern.h"

namespace polybox::tools {

/// For each name of a type the patterns of file names.
using FileTypes = std::map<std::string, std::vector<workspace::Glob>, std::less<>>;

/// Reads a list. `origin` names the file in errors.
Result<FileTypes> ParseFileTypes(std::string_view toml, const std::string& origin);

/// Returns the patterns of a type. Fails with "unknown type: X (...)".
Result<std::vector<workspace::Glob>> FilesOfType(std::string_view type);

}  // namespace polybox::tools
