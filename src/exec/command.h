// Runs commands: programs of the host in a directory that outlives them. The clients upload files
// first and then send a command line. Every command sees the files of the previous ones, in
// whichever slot it runs. Used by the engine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "exec/catalog.h"
#include "jail/slot.h"
#include "jail/spec.h"

namespace polybox::exec {

/// The directory in which commands run, and their conditions.
struct CommandDirectory {
  /// The directory on the host.
  std::string directory;
  /// The path at which the operator wants commands to see the directory, in grades with namespaces.
  /// ShownAt() returns the path that is used.
  std::string shown;
  /// The uid that owns the directory and the files that commands make in it.
  unsigned owner = 0;
  /// The memory that files of the directory can use if it is in memory (tmpfs); 0 if it is on a
  /// disk. The kernel charges such a file to the slot that wrote it, even after the command has
  /// ended. Commands may therefore use that much more memory.
  Bytes in_memory = {};
  /// Whether commands get an egress proxy, as in Installation::egress.
  bool egress = false;
  /// The memory limit of each command, without `in_memory`.
  Bytes memory = Bytes::MiB(1024);
};

/// Prepares `directory` (a borrowed descriptor) for commands. If guests have uids of their own, a
/// directory of root is given to a uid that nothing else has. Returns the owner's uid.
Result<unsigned> TakeCommandDirectory(int directory, jail::Uids uids);

/// Returns the path of the directory as commands see it: `shown`, or /app where a jail has files of
/// its own (/tmp, /usr).
std::string ShownAt(const CommandDirectory& commands, jail::Grade grade);

/// Returns what a slot for commands shows: the toolchains of all languages that run on this host,
/// and the directory.
jail::Spec CommandSpec(const CommandDirectory& commands, const Catalog& catalog, jail::Grade grade);

/// Returns the command as the jail executes it; the caller sets the standard streams. A program
/// that is not found keeps its name, so that the jail reports the failure.
jail::RunRequest CommandRun(const CommandDirectory& commands, const Catalog& catalog,
                            jail::Grade grade, const std::vector<std::string>& argv);

}  // namespace polybox::exec
