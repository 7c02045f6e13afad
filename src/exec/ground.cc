#include "exec/ground.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.h"
#include "jail/slot_numbers.h"

namespace polybox::exec {
namespace {

using jail::Grade;
using jail::Uids;

constexpr unsigned kTrialNumber = jail::SlotNumber(jail::SlotUse::kTrial, 0);

// Paths at which systems have a shell or a small program.
constexpr const char* kShells[] = {"/bin/sh", "/usr/bin/sh"};
constexpr const char* kSmallPrograms[] = {"/usr/bin/true", "/bin/true"};

constexpr const char* kNamespacesFix =
    "in a container, allow namespaces and mounts (privileged, or a seccomp profile that permits "
    "them, with an unmasked /proc)";
constexpr const char* kDirectoryFix =
    "name a directory in which polybox may write with TMPDIR (a volume, in a container)";
constexpr const char* kOpenFilesFix = "allow polybox more open files (ulimit -n)";
constexpr const char* kProcessesFix =
    "allow polybox more processes (ulimit -u, or the limit on pids of its container or cgroup)";

/// Returns the command of the trial; {} when the host has none of these programs.
std::vector<std::string> SmallProgram() {
  // The trial must notice a limit that leaves room for the guest but for no child process of it.
  // Therefore the shell starts a child process.
  for (const char* path : kShells) {
    if (::access(path, X_OK) == 0) return {path, "-c", "true & wait $!"};
  }
  for (const char* path : kSmallPrograms) {
    if (::access(path, X_OK) == 0) return {path};
  }
  return {};
}

bool HasOwnUids(const std::vector<jail::HostCheck>& checks) {
  const auto found = std::ranges::find(checks, jail::kOwnUidsCheck, &jail::HostCheck::name);
  return found != checks.end() && found->ok;
}

/// Returns the usual remedy for a step that failed in a slot of this grade and gave no advice.
const char* UsualFix(const Error& why, Grade grade) {
  switch (why.system_errno()) {
    case EMFILE:
      return kOpenFilesFix;
    // A fork fails with EAGAIN where a limit on processes leaves no room for another one.
    case EAGAIN:
      return kProcessesFix;
    default:
      return jail::HasNamespaces(grade) ? kNamespacesFix : kDirectoryFix;
  }
}

std::string NameOf(const Rung& rung) {
  const bool shared = rung.uids == Uids::kShared && ::geteuid() == 0;
  return fmt::format("{}{}", jail::GradeName(rung.grade), shared ? " with the uid of polybox" : "");
}

}  // namespace

Result<std::vector<Rung>> LadderFor(const std::vector<jail::HostCheck>& checks,
                                    const jail::GradeWish& wish) {
  POLYBOX_ASSIGN_OR_RETURN(const Grade best, jail::ChooseGrade(checks, wish));
  const Grade least = wish.wanted ? *wish.wanted : std::max(wish.minimum, Grade::kLandlock);
  const bool own = HasOwnUids(checks);
  std::vector<Rung> ladder;
  for (const Grade grade : {Grade::kFull, Grade::kRootless, Grade::kLandlock, Grade::kNone}) {
    if (grade > best || grade < least) continue;
    // That the host fulfils a stronger grade does not mean that it has Landlock.
    const bool is_other = grade == Grade::kLandlock && grade != best;
    if (is_other && jail::MissingFor(checks, grade) != nullptr) continue;
    if (own) ladder.push_back({grade, Uids::kOwn});
    // The grade full includes a uid for each slot.
    if (grade != Grade::kFull) ladder.push_back({grade, Uids::kShared});
  }
  return ladder;
}

Status TrySlot(const launch::JailHome& home) {
  jail::Spec spec = jail::HostSpec();
  spec.grade = home.grade();
  POLYBOX_ASSIGN_OR_RETURN(jail::Slot slot, home.MakeSlot(spec, kTrialNumber));
  const std::vector<std::string> program = SmallProgram();
  // Without a program to try, a slot that could be made must be proof enough.
  if (program.empty()) return {};
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd null, OpenFile("/dev/null", O_RDWR));
  jail::RunRequest request;
  request.argv = program;
  request.directory = slot.places().work;
  request.stdin_fd = request.stdout_fd = request.stderr_fd = null.get();
  POLYBOX_ASSIGN_OR_RETURN(const jail::Outcome outcome, slot.Run(request));
  if (outcome.end == jail::End::kExited && outcome.exit_code == 0) return {};
  return Error(ErrorKind::kSystem,
               fmt::format("{} does not run: {}", program[0],
                           outcome.end == jail::End::kSetupFailed
                               ? outcome.setup_failure
                               : fmt::format("{}, exit code {}", jail::EndName(outcome.end),
                                             outcome.exit_code)));
}

std::vector<std::string> NotesOf(const std::vector<jail::HostCheck>& checks, Grade grade) {
  std::vector<std::string> notes;
  for (const jail::HostCheck& check : checks) {
    const bool costs = check.bare_only ? !jail::HasNamespaces(grade) : check.without.has_value();
    if (check.ok || check.untried || !costs) continue;
    notes.push_back(fmt::format("{}: {}", check.name, check.found));
  }
  return notes;
}

Result<Descent> Descent::From(const std::vector<jail::HostCheck>& checks,
                              const jail::GradeWish& wish) {
  POLYBOX_ASSIGN_OR_RETURN(std::vector<Rung> ladder, LadderFor(checks, wish));
  return Descent(std::move(ladder), checks);
}

Result<launch::JailHome> Descent::MakeHome() const {
  POLYBOX_ASSIGN_OR_RETURN(launch::JailHome home,
                           launch::JailHome::Make(rung().grade, rung().uids));
  std::vector<std::string> notes = NotesOf(checks_, rung().grade);
  notes.insert(notes.end(), passed_over_.begin(), passed_over_.end());
  const std::string limits = jail::LimitsNote(rung().grade);
  if (!limits.empty()) notes.push_back(limits);
  home.SetNotes(std::move(notes));
  return home;
}

bool Descent::GoDown(const Error& why) {
  passed_over_.push_back(fmt::format("{} does not work here: {}", NameOf(rung()), why.message()));
  fix_ = why.fix();
  if (fix_.empty()) fix_ = UsualFix(why, rung().grade);
  if (at_ + 1 == ladder_.size()) return false;
  ++at_;
  return true;
}

Error Descent::Failure() const {
  return Error(ErrorKind::kUnavailable,
               fmt::format("no program can run: {}", fmt::join(passed_over_, "; ")))
      .WithFix(fix_);
}

Result<launch::JailHome> FindGround(Descent& descent) {
  while (true) {
    Result<launch::JailHome> home = descent.MakeHome();
    const Status tried = home.ok() ? TrySlot(*home) : Status(home.error());
    if (tried.ok()) return home;
    if (!descent.GoDown(tried.error())) return descent.Failure();
  }
}

}  // namespace polybox::exec
