#include "jail/init/bare_slot.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "jail/init/end_tree.h"
#include "jail/init/remove.h"

namespace polybox::jail::init {
namespace {

/// No program started from here can gain a capability, but perhaps the one to read closed trees.
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
  guest_ids = bare_.uid == 0 ? Ids{::getuid(), ::getgid()} : Ids{bare_.uid, bare_.uid};
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (bare_.uid != 0) {
    const int error = AsGuest(bare_.uid, [](int) { return 0; }, 0);
    if (error != 0) return StepResult::Failure(Stage::kIdentity, error);
    if (const int dropped = DropBoundingSet(bare_)) {
      return StepResult::Failure(Stage::kDrop, dropped);
    }
  }
  for (std::size_t i = 0; i < setup.operations.size(); ++i) {
    const std::string& directory = setup.operations[i].target;
    const bool spoiled = static_cast<int>(i) == setup.fail_at;
    if (const int error = spoiled ? EIO : MakeDirectory(directory)) {
      return StepResult::Failure(Stage::kOperation, error, static_cast<int>(i));
    }
    directories_.push_back(directory);
  }
  return {};
}

int BareSlot::MakeDirectory(const std::string& directory) const {
  const std::string path = bare_.home + "/" + directory;
  if (::mkdir(path.c_str(), S_IRWXU) != 0) return errno;
  return ::chown(path.c_str(), guest_ids.uid, guest_ids.gid) == 0 ? 0 : errno;
}

StepResult BareSlot::MakePod(PodOptions options, Pod& pod) {
  if (bare_.walls == Walls::kLandlock) {
    int index = -1;
    if (const int error = ruleset_.Make(bare_, index)) {
      return StepResult::Failure(Stage::kLandlock, error, index);
    }
  }
  options.in_namespaces = false;
  options.ruleset = ruleset_.fd();
  options.closed_trees = bare_.closed_trees;
  const StepResult made = init::MakePod(options, pod);
  if (!made.ok) EndPod(pod);
  return made;
}

Ended BareSlot::EndPod(Pod& pod) {
  Ended ended;
  if (!pod.exists()) return ended;
  ::kill(pod.pid, SIGKILL);
  // Not reaped here: its usage is that of those it has reaped.
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pod.pid), &info, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
  // As wait() would say it.
  ended.status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
  // A slot whose guests do not end is of no use to anyone; the server makes another.
  if (!EndTree(bare_.uid, ended)) ::_exit(1);
  ::close(pod.pidfd);
  ::close(pod.control);
  ::close(pod.socket);
  ForgetRun();
  pod = {};
  return ended;
}

int BareSlot::Clear(const std::string& directory) const {
  const std::string path = bare_.home + "/" + directory;
  const int fd = OpenClosed(AT_FDCWD, path.c_str());
  if (fd < 0) return errno == ENOENT ? 0 : errno;
  // All in it is the guests'; their own uid is enough to remove it, and reaches nothing else.
  const int error = bare_.uid == 0 ? RemoveContents(fd) : AsGuest(bare_.uid, RemoveContents, fd);
  ::close(fd);
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
