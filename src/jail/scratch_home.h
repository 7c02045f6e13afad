// The scratch space of a slot without namespaces: a directory of the host in $TMPDIR, named
// `polybox-<pid>-<start time>-slot-<number>` so that what a dead server left can be told from what
// a living one uses.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace polybox::jail {

/// Who must be able to enter it beside ourselves.
enum class Visitors { kNobody, kOtherUids };

class ScratchHome {
 public:
  static Result<ScratchHome> Make(unsigned number, Visitors visitors);
  ScratchHome(ScratchHome&& other) noexcept;
  ScratchHome& operator=(ScratchHome&&) = delete;
  /// Removes it with all that is still in it. Nobody may run in it any more.
  ~ScratchHome();

  const std::string& path() const { return path_; }

 private:
  ScratchHome(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  /// Held as long as we live, which others see across PID namespaces too.
  UniqueFd lock_;
};

/// Removes what dead servers of our own uid left in $TMPDIR; how many. Kills nothing.
int SweepScratchHomes();

}  // namespace polybox::jail
