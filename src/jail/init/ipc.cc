// The namespace of System V objects. A new one costs a twelfth of a short run, so one in which
// nothing was ever made stays for the next.
//
// The kernel says whether anything was: the identifier that the next object of a kind gets can be
// chosen, by those with rights over the namespace, and whoever makes one uses that choice up. Where
// it cannot (CONFIG_CHECKPOINT_RESTORE), every run gets a new namespace. Queues of the POSIX kind
// can never be made: RLIMIT_MSGQUEUE.
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <iterator>
#include <sched.h>
#include <string_view>
#include <unistd.h>

#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

constexpr const char* kChoices[] = {"shm_next_id", "sem_next_id", "msg_next_id"};
// A first place, of a round that is far away: what programs make after it has others for long, so
// that what they have removed does not come back under its old name.
constexpr std::string_view kChosen = "536870912\n";

bool Choose(int file) {
  return ::pwrite(file, kChosen.data(), kChosen.size(), 0) == static_cast<ssize_t>(kChosen.size());
}

bool IsStillChosen(int file) {
  char buffer[16];
  const ssize_t count = ::pread(file, buffer, sizeof buffer, 0);
  return count > 0 && std::string_view(buffer, static_cast<std::size_t>(count)) == kChosen;
}

/// What the kernel says of objects, which nobody here wants to know.
union Room {
  shm_info segments;
  shmid_ds segment;
  msginfo queues;
  msqid_ds queue;
  seminfo sets;
  semid_ds set;
};

/// All of one kind. `control` is shmctl() or one of its siblings; `info` makes it tell the last
/// place in use, `stat` the identifier of what is at a place.
template <typename Control>
void RemoveKind(Control control, int info, int stat) {
  Room room{};
  const int last = control(0, info, &room);
  for (int place = 0; place <= last; ++place) {
    const int id = control(place, stat, &room);
    if (id >= 0) control(id, IPC_RMID, nullptr);
  }
}

/// The kernel frees a namespace when it has time, and until then what is in it counts against the
/// cgroup of its guests.
void RemoveAll() {
  RemoveKind([](int id, int command,
                Room* room) { return ::shmctl(id, command, reinterpret_cast<shmid_ds*>(room)); },
             SHM_INFO, SHM_STAT_ANY);
  RemoveKind([](int id, int command,
                Room* room) { return ::msgctl(id, command, reinterpret_cast<msqid_ds*>(room)); },
             MSG_INFO, MSG_STAT_ANY);
  RemoveKind([](int id, int command, Room* room) { return ::semctl(id, 0, command, room); },
             SEM_INFO, SEM_STAT_ANY);
}

}  // namespace

void Ipc::Open() {
  directory_ = ::open("/proc/sys/kernel", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory_ >= 0) Look();
}

void Ipc::Look() {
  for (const int fd : choices_) ::close(fd);
  choices_.clear();
  for (const char* name : kChoices) {
    const int fd = ::openat(directory_, name, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    choices_.push_back(fd);
    if (!Choose(fd)) return;
  }
}

bool Ipc::IsUnused() const {
  return choices_.size() == std::size(kChoices) && std::ranges::all_of(choices_, IsStillChosen);
}

int Ipc::Renew() {
  if (may_be_used_ && !IsUnused()) {
    RemoveAll();
    if (::unshare(CLONE_NEWIPC) != 0) return errno;
    ++renewals_;
    if (directory_ >= 0) Look();
  }
  may_be_used_ = false;
  return 0;
}

}  // namespace polybox::jail::init
