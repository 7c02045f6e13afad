// The namespace of System V objects. A new one costs a twelfth of a short run. So a namespace in
// which no object was ever made is kept for the next run.
//
// The kernel tells whether an object was made. A process with rights over the namespace can choose
// the identifier of the next object of a kind. The object that gets it uses the choice up. Where
// the kernel cannot do that (CONFIG_CHECKPOINT_RESTORE), every run gets a new namespace.
// POSIX queues can never be made: RLIMIT_MSGQUEUE is 0.
#include "jail/init/ipc.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <iterator>
#include <sched.h>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

namespace polybox::jail::init {
namespace {

constexpr const char* kChoices[] = {"shm_next_id", "sem_next_id", "msg_next_id"};
// An identifier with index 0 and a sequence number that is far away: later objects get other
// identifiers for a long time. So an identifier that a program has removed does not return soon.
constexpr std::string_view kChosen = "536870912\n";

bool Choose(int file) {
  return ::pwrite(file, kChosen.data(), kChosen.size(), 0) == static_cast<ssize_t>(kChosen.size());
}

bool IsStillChosen(const UniqueFd& file) {
  char buffer[16];
  const ssize_t count = ::pread(file.get(), buffer, sizeof buffer, 0);
  return count > 0 && std::string_view(buffer, static_cast<std::size_t>(count)) == kChosen;
}

/// Room for the kernel's answers about objects, which are not used here.
union Room {
  shm_info segments;
  shmid_ds segment;
  msginfo queues;
  msqid_ds queue;
  seminfo sets;
  semid_ds set;
};

/// Removes all System V objects of one kind. `control` is shmctl(), msgctl() or semctl(). With the
/// command `info` it returns the last index in use, with `stat` the identifier of the object at an
/// index.
template <typename Control>
void RemoveKind(Control control, int info, int stat) {
  Room room{};
  const int last = control(0, info, &room);
  for (int place = 0; place <= last; ++place) {
    const int id = control(place, stat, &room);
    if (id >= 0) control(id, IPC_RMID, nullptr);
  }
}

/// Removes all System V objects (shared memory, message queues, semaphores) of the present IPC
/// namespace. The kernel frees a namespace that nobody uses only some time later. Until then the
/// memory of its objects is charged to the cgroup of the guests that made them.
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
  directory_.reset(::open("/proc/sys/kernel", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (directory_.valid()) Look();
}

void Ipc::Look() {
  choices_.clear();
  for (const char* name : kChoices) {
    UniqueFd file(::openat(directory_.get(), name, O_RDWR | O_CLOEXEC));
    if (!file.valid() || !Choose(choices_.emplace_back(std::move(file)).get())) return;
  }
}

bool Ipc::IsUnused() const {
  return choices_.size() == std::size(kChoices) && std::ranges::all_of(choices_, IsStillChosen);
}

int Ipc::Renew(const Reuse& reuse) {
  if (may_be_used_ && !reuse.OfIpc([&] { return IsUnused(); })) {
    RemoveAll();
    if (::unshare(CLONE_NEWIPC) != 0) return errno;
    ++renewals_;
    if (directory_.valid()) Look();
  }
  may_be_used_ = false;
  return 0;
}

}  // namespace polybox::jail::init
