// Commands: programs of the host in a directory that outlives them, for clients that bring their
// own files first and then a command line. Whatever slot runs one, its files are those of the last.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "exec/catalog.h"
#include "jail/slot.h"
#include "jail/spec.h"

namespace polybox::exec {

/// Where commands run.
struct CommandPlace {
  /// On the host.
  std::string directory;
  /// Where commands would like to see it, in grades with namespaces: see ShownAt.
  std::string shown;
  /// Whose it is; what commands make there is theirs.
  unsigned owner = 0;
  /// What its files may take of the memory that commands have; 0 when they are on a disk. Whoever
  /// writes one is charged for it, and stays so, so commands may have that much more.
  Bytes in_memory = {};
  /// As for the guests of an Installation.
  bool egress = false;
};

/// Makes `directory` (borrowed, a descriptor of it) fit for commands: root's own becomes that of a
/// uid that nobody else has. Its owner.
Result<unsigned> TakeCommandDirectory(int directory);

/// The place of the directory as commands see it. Where a jail has its own things (/tmp, /usr),
/// that is /app.
std::string ShownAt(const CommandPlace& place, jail::Grade grade);

/// The toolchains of all languages that run here, and the directory.
jail::Spec CommandSpec(const CommandPlace& place, const Catalog& catalog, jail::Grade grade);

/// The standard streams are left to the caller. A program that is nowhere stays as it is, for the
/// jail to say so.
jail::RunRequest CommandRun(const CommandPlace& place, const Catalog& catalog, jail::Grade grade,
                            const std::vector<std::string>& argv);

}  // namespace polybox::exec
