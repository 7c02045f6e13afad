// Reads a program that a person names on the command line by files and directories of the host.
// Gives each file a name in the working directory and finds the entry. Used by `polybox run`.
// Blocks; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "jail/slot.h"
#include "languages/registry.h"

namespace polybox::exec {

/// Limits of a program.
struct ProgramFilesLimits {
  /// A source tree has hundreds of files. One that includes its dependencies would not fit into a
  /// jail's working directory (64 MiB and 4,096 files by default) in any case.
  std::size_t files = 2048;
  /// The size of one file, and of all files together.
  Bytes file = Bytes::MiB(16);
  Bytes total = Bytes::MiB(48);
  /// The depth of directories within each other.
  int depth = 32;
};

/// What the person named.
struct ProgramFilesQuery {
  /// Files and directories of the host. "-" is standard input, which is read to its end; only the
  /// first path may be "-".
  std::vector<std::string> paths;
  /// The entry's name in the working directory. "": the first file, or, if that is a directory, the
  /// file whose name the language lists as an entry.
  std::string entry = {};
  /// An id or alias of a language. "": the entry's extension or its #! line decides.
  std::string language = {};
  ProgramFilesLimits limits = {};
};

/// The program.
struct ProgramFiles {
  const languages::Language* language = nullptr;
  /// All files; the entry is the first.
  std::vector<jail::InputFile> files;
  /// Files of a directory that the program does not get, as "PATH (why)".
  std::vector<std::string> skipped;
};

/// Reads the files and gives them names in the working directory. A directory that is named first
/// becomes the working directory: what is below it keeps its path from there. Any other file keeps
/// its path from the first file's directory if it is below that; otherwise it gets its last name
/// alone.
Result<ProgramFiles> ReadProgramFiles(const languages::Registry& registry,
                                      const ProgramFilesQuery& query);

}  // namespace polybox::exec
