// Finds the strongest isolation that works on this host. The checks of a host can promise more than
// a container permits. A seccomp profile, a mount that cannot be copied or a directory that cannot
// be made may stand in the way. A grade therefore counts only when a program has run in a slot of
// it. Otherwise the next lower grade is tried. Used at the start of the server and of commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jail/grade.h"
#include "launch/jail_home.h"

namespace polybox::exec {

/// One way to isolate guests: a grade, and whether each slot has a uid of its own.
struct Rung {
  jail::Grade grade = jail::Grade::kNone;
  jail::Uids uids = jail::Uids::kShared;

  bool operator==(const Rung&) const = default;
};

/// Returns the ways that `wish` accepts and `checks` do not exclude, the strongest first. The list
/// is never empty: if ChooseGrade() finds no grade, this function returns its error. The grade
/// kNone is included only if the wish names it.
Result<std::vector<Rung>> LadderFor(const std::vector<jail::HostCheck>& checks,
                                    const jail::GradeWish& wish);

/// Makes a slot of `home` and runs a small program of the host in it. The error names the step that
/// failed. Any thread; takes about 10 ms.
Status TrySlot(const launch::JailHome& home);

/// Returns what isolation guests of `grade` lack: a sentence for each failed check that weakens it.
std::vector<std::string> NotesOf(const std::vector<jail::HostCheck>& checks, jail::Grade grade);

/// Tries the ways of a ladder from the strongest to the weakest, and records why each failed. One
/// thread at a time.
class Descent {
 public:
  Descent(std::vector<Rung> ladder, std::vector<jail::HostCheck> checks)
      : ladder_(std::move(ladder)), checks_(std::move(checks)) {}
  /// Makes the descent for a host and a wish; an error if no grade fulfils the wish.
  static Result<Descent> From(const std::vector<jail::HostCheck>& checks,
                              const jail::GradeWish& wish);

  const Rung& rung() const { return ladder_[at_]; }
  /// Makes a JailHome for the present rung, with all notes about what it lacks.
  Result<launch::JailHome> MakeHome() const;
  /// Records that the present rung does not work because of `why`, and moves to the next. Returns
  /// false if there is no next rung.
  bool GoDown(const Error& why);
  /// A sentence for each rung that does not work, such as "rootless does not work here: make a
  /// slot: ...".
  const std::vector<std::string>& passed_over() const { return passed_over_; }
  /// Returns the error for the case that GoDown() has returned false: all failures, and how to fix
  /// the last one.
  Error Failure() const;

 private:
  std::vector<Rung> ladder_;
  std::vector<jail::HostCheck> checks_;
  /// The index of the present rung.
  std::size_t at_ = 0;
  std::vector<std::string> passed_over_;
  /// How to fix the failure of the last rung.
  std::string fix_;
};

/// Returns a home for the strongest rung on which a program runs. `descent` then says which rungs
/// failed.
Result<launch::JailHome> FindGround(Descent& descent);

}  // namespace polybox::exec
