// Finds out what programs of a language can import beyond its standard library. It asks the
// interpreter that will run them, in a jail: `importable` in `[run]` of the language file. Answers
// are kept in a file, with the directories that they depend on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "launch/jail_home.h"
#include "launch/launch.h"

namespace polybox::packages {

struct ImportableOptions {
  const launch::JailHome& home;
  /// The file in which answers are kept; "" for none.
  std::string cache_file;
  const log::Logger& log;
};

/// Returns the names of the packages that programs can import, sorted and without duplicates.
/// Returns nothing if the language file has no `importable` command. Returns nothing, with a line
/// in `log`, if the interpreter fails or takes too long.
///
/// Without a cached answer, this function runs the interpreter in a temporary slot with number 0.
/// The caller must call it while this process has no other slot, for example before it makes the
/// engine.
std::optional<std::vector<std::string>> ImportableIn(const launch::Installation& installation,
                                                     const ImportableOptions& options);

/// Parses the command's output: "from DIRECTORY" for each directory that it looked at, and "package
/// NAME" for each package. Other lines are ignored.
struct ImportableAnswer {
  std::vector<std::string> directories;
  std::vector<std::string> packages;
};
ImportableAnswer ParseImportable(std::string_view text);

}  // namespace polybox::packages
