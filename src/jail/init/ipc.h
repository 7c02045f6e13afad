// The slot's namespace of System V objects. It is made anew when a guest has made such an object.
// Used by the slot init on its one thread.
#pragma once

#include <vector>

#include "base/unique_fd.h"
#include "jail/init/reuse.h"

namespace polybox::jail::init {

class Ipc {
 public:
  /// Opens the files of the host's /proc that later checks need. Call it before /proc is covered.
  void Open();
  /// Between two runs: makes a new namespace, unless no guest entered the old one or `reuse` keeps
  /// it. Returns 0 or an errno.
  int Renew(const Reuse& reuse);
  /// Records that a guest is in the namespace from here on.
  void Enter() { may_be_used_ = true; }
  int renewals() const { return renewals_; }

 private:
  void Look();
  bool IsUnused() const;

  UniqueFd directory_;
  /// Files of the present namespace, one for each kind of object.
  std::vector<UniqueFd> choices_;
  bool may_be_used_ = false;
  int renewals_ = 0;
};

}  // namespace polybox::jail::init
