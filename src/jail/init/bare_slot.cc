#include "jail/init/bare_slot.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <grp.h>
#include <unistd.h>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/unique_fd.h"
#include "jail/init/end_tree.h"
#include "jail/init/ids.h"
#include "jail/init/remove.h"
#include "jail/init/waiting.h"

namespace polybox::jail::init {
namespace {

/// After this no program started from here can gain a capability, except the one to read closed
/// trees if there are any.
int DropBoundingSet(const Bare& bare) {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    if (bare.closed_trees && capability == CAP_DAC_READ_SEARCH) continue;
    if (::prctl(PR_CAPBSET_DROP, capability) != 0) return errno;
  }
  return 0;
}

}  // namespace

StepResult BareSlot::SetUp(const Setup& setup) {
  bare_ = setup.bare;
  if (bare_.uid != 0) SetGuestIds({bare_.uid, bare_.uid});
  if (bare_.uid == 0) SetGuestIds({::getuid(), ::getgid()});
  if (bare_.user != 0) SetGuestIds({bare_.user, bare_.group});
  // An outer jail may refuse this; sys/host_facts.cc has found that out, and every answer of the
  // server says so.
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Guests that have the slot init's uid must not inspect its memory. Grade none promises no such
  // thing.
  if (bare_.walls == Walls::kLandlock && ::prctl(PR_GET_DUMPABLE) != 0) {
    return StepResult::Failure(Stage::kDrop, EPERM);
  }
  if (bare_.uid != 0) {
    const int error = AsGuest(bare_.uid, [](int) { return 0; }, 0);
    if (error != 0) return StepResult::Failure(Stage::kIdentity, error);
    if (const int dropped = DropBoundingSet(bare_)) {
      return StepResult::Failure(Stage::kDrop, dropped);
    }
  }
  // In grade none a guest may signal every process that the user of polybox may signal.
  if (bare_.uid == 0 && bare_.walls == Walls::kLandlock) signals_stay_inside_ = KeepSignalsInside();
  for (std::size_t i = 0; i < setup.operations.size(); ++i) {
    const std::string& directory = setup.operations[i].target;
    const bool spoiled = static_cast<int>(i) == setup.fail_at;
    if (const int error = spoiled ? EIO : MakeDirectory(directory)) {
      return StepResult::Failure(Stage::kOperation, error, static_cast<int>(i));
    }
    directories_.push_back(directory);
  }
  if (bare_.user == 0) return {};
  const int error = BecomeUser();
  return error == 0 ? StepResult() : StepResult::Failure(Stage::kIdentity, error);
}

int BareSlot::BecomeUser() const {
  if (const int error = DropBoundingSet(bare_)) return error;
  const auto [uid, gid] = GuestIds();
  if (::setgroups(0, nullptr) != 0 || ::setresgid(gid, gid, gid) != 0 ||
      ::setresuid(uid, uid, uid) != 0) {
    return errno;
  }
  // The change of uid has cleared the parent-death signal.
  return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 ? 0 : errno;
}

/// Makes a scratch directory that belongs to the guests. Returns 0 or an errno.
int BareSlot::MakeDirectory(const std::string& directory) const {
  const std::string path = bare_.home + "/" + directory;
  if (::mkdir(path.c_str(), S_IRWXU) != 0) return errno;
  return ::chown(path.c_str(), GuestIds().uid, GuestIds().gid) == 0 ? 0 : errno;
}

StepResult BareSlot::MakeRuleset() {
  if (bare_.walls != Walls::kLandlock) return {};
  int index = -1;
  const int error = ruleset_.Make(bare_, index);
  return error == 0 ? StepResult() : StepResult::Failure(Stage::kLandlock, error, index);
}

StepResult BareSlot::MakeCell(CellOptions options, Cell& cell) {
  const StepResult ruled = MakeRuleset();
  if (!ruled.ok) return ruled;
  options.in_namespaces = false;
  options.ruleset = ruleset_.fd();
  options.closed_trees = bare_.closed_trees;
  const StepResult made = init::MakeCell(options, cell);
  if (!made.ok) EndCell(cell);
  return made;
}

Ended BareSlot::EndCell(Cell& cell) {
  Ended ended;
  if (!cell.exists()) return ended;
  ::kill(cell.pid, SIGKILL);
  // The cell's init is not reaped here: EndTree() reaps it, and its usage includes the children
  // that it has reaped.
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(cell.pid), &info, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
  // In the format of wait().
  ended.status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
  // A slot whose guests do not end cannot be used again. The server makes another slot.
  if (!EndTree({bare_.uid, signals_stay_inside_}, ended)) ::_exit(1);
  ForgetRun();
  cell = {};
  return ended;
}

StepResult BareSlot::Prepare(ProcessOptions& options) {
  const StepResult ruled = MakeRuleset();
  options.in_namespaces = false;
  options.ruleset = ruleset_.fd();
  options.closed_trees = bare_.closed_trees;
  return ruled;
}

void BareSlot::EndLease(pid_t lease_init) {
  ::kill(lease_init, SIGKILL);
  Ended ignored;
  if (!EndTree({bare_.uid, signals_stay_inside_}, ignored)) ::_exit(1);
}

/// Removes a scratch directory with its content. Returns 0 or an errno.
int BareSlot::Clear(const std::string& directory) const {
  const std::string path = bare_.home + "/" + directory;
  const UniqueFd fd(OpenClosed(AT_FDCWD, path.c_str()));
  if (!fd.valid()) return errno == ENOENT ? 0 : errno;
  // All content belongs to the guests. Their own uid is enough to remove it, and reaches nothing
  // else.
  const int error =
      bare_.uid == 0 ? RemoveContents(fd.get()) : AsGuest(bare_.uid, RemoveContents, fd.get());
  if (error != 0) return error;
  return ::rmdir(path.c_str()) == 0 ? 0 : errno;
}

StepResult BareSlot::Empty() {
  for (std::size_t i = 0; i < directories_.size(); ++i) {
    int error = Clear(directories_[i]);
    if (error == 0) error = MakeDirectory(directories_[i]);
    if (error != 0) return StepResult::Failure(Stage::kWipe, error, static_cast<int>(i));
  }
  return {};
}

void BareSlot::Remove() {
  for (const std::string& directory : directories_) Clear(directory);
  ::rmdir(bare_.home.c_str());
}

}  // namespace polybox::jail::init
