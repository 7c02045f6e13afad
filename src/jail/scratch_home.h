// The scratch space of a slot without namespaces: a directory of the host in $TMPDIR. Its name is
// `polybox-<pid>-<start time>-slot-<number>`, which tells the directory of a dead server from the
// directory of a running one. A server's private base directory is kept in such a directory too;
// its name ends in `-base`.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace polybox::jail {

/// Which other uids must be able to enter the directory, besides the server's own uid.
enum class Visitors { kNobody, kOtherUids };

class ScratchHome {
 public:
  static Result<ScratchHome> Make(unsigned number, Visitors visitors);
  /// Makes the directory for the private base directory of a server, which is then `base_path()`. A
  /// server has one.
  static Result<ScratchHome> MakeForBase();
  ScratchHome(ScratchHome&& other) noexcept;
  ScratchHome& operator=(ScratchHome&&) = delete;
  /// Removes the directory with all its content. No process may run in it any more.
  ~ScratchHome();

  const std::string& path() const { return path_; }
  /// A subdirectory, so that its owner can be changed to another uid. The owner of the outer
  /// directory still tells which uid's server made it.
  std::string base_path() const { return path_ + "/files"; }

 private:
  static Result<ScratchHome> MakeNamed(std::string_view suffix, Visitors visitors);
  ScratchHome(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  /// A lock that is held as long as this object lives. Other servers see the lock across PID
  /// namespaces too, where they could not see the process.
  UniqueFd lock_;
};

/// Removes the directories that dead servers of the caller's uid left in $TMPDIR. Returns how many
/// were removed. Kills no process.
int SweepScratchHomes();

}  // namespace polybox::jail
