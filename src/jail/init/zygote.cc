#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

// To enter a pod's namespaces, and to become the guest there.
constexpr int kKept[] = {CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID};

// Guests of one zygote have the same hash seed and the same addresses: not for too long.
constexpr int kMostForks = 4096;
// An interpreter that cannot be started ahead is not tried for ever.
constexpr int kMostFailures = 3;
constexpr int kMostMilliseconds = 20'000;

/// What it looks like is its own business, but it finds no /proc where it is.
void ShowItself(int proc, pid_t pid, int socket) {
  std::vector<int> files;
  for (const char* name : {"stat", "maps"}) {
    const std::string path = std::to_string(pid) + "/" + name;
    const int file = ::openat(proc, path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file >= 0) files.push_back(file);
  }
  Send(socket, Encode(MessageKind::kDone), files);
  for (const int file : files) ::close(file);
}

/// Streams as guests have them, so that what an interpreter makes of these will do for those: all
/// three are ends of one pipe, which nobody reads.
bool TakePipeForStreams() {
  int ends[2];
  if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) return false;
  return ::dup2(ends[0], STDIN_FILENO) >= 0 && ::dup2(ends[1], STDOUT_FILENO) >= 0 &&
         ::dup2(ends[1], STDERR_FILENO) >= 0;
}

/// The zygote from its fork to its exec; returns on failure.
void BecomeZygote(int socket, const WarmCommand& warm) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int capability : kKept) {
    ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0);
  }
  if (::dup2(socket, kWarmSocket) < 0 || ::chdir("/") != 0 || !TakePipeForStreams()) return;
  ::syscall(SYS_close_range, STDERR_FILENO + 1U, kWarmSocket - 1U, 0U);
  ::syscall(SYS_close_range, kWarmSocket + 1U, ~0U, 0U);
  if (SetLimits(warm.limits).ok) Execute(warm.argv.data(), warm.env.data());
}

std::vector<std::string> Environment(const WarmStart& warm) {
  std::vector<std::string> env = warm.env;
  env.push_back(std::string("LD_PRELOAD=") + kWarmLibrary);
  const bool forks = warm.kind == WarmKind::kZygote;
  // What is looked up once is not looked up in every fork.
  if (forks) env.emplace_back("LD_BIND_NOW=1");
  const std::string kind = forks ? "zygote " : "prestart ";
  env.push_back(kWarmVariable + ("=" + kind) + warm.entry);
  return env;
}

}  // namespace

WarmCommand::WarmCommand(const WarmStart& warm)
    : words(warm.argv),
      variables(Environment(warm)),
      argv(Pointers(words)),
      env(Pointers(variables)),
      limits(warm.limits) {}

void Zygote::KeepProc() {
  proc_ = ::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int KeepForZygote() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return errno;
  for (const int capability : kKept) data[0].inheritable |= 1U << capability;
  return OrErrno(::syscall(SYS_capset, &header, data));
}

bool Zygote::Prepare(const WarmCommand& warm, bool between_sessions) {
  // It starts where no guest has anything yet that it could take for its own, and starts to the
  // end.
  if (between_sessions) {
    if (ready_ && forks_ >= kMostForks) Stop();
    if (pid_ < 0 && failures_ < kMostFailures && Start(warm)) AwaitReady();
  }
  if (ready_) ++forks_;
  return ready_;
}

bool Zygote::MovesTo(int renewals) {
  return std::exchange(namespaces_, renewals) != renewals;
}

bool Zygote::Start(const WarmCommand& warm) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return false;
  socket_numbers_ = NumbersOf(sockets);
  pid_ = ::fork();
  if (pid_ == 0) {
    BecomeZygote(sockets[1], warm);
    ::_exit(127);
  }
  ::close(sockets[1]);
  socket_ = sockets[0];
  if (pid_ < 0) Stop();
  return pid_ > 0;
}

void Zygote::AwaitReady() {
  pollfd polled = {socket_, POLLIN, 0};
  const int heard = ::poll(&polled, 1, kMostMilliseconds);
  Received word;
  ready_ = heard > 0 && ReceiveShort(socket_, word) && KindOf(word.bytes) == MessageKind::kDone;
  failures_ = ready_ ? 0 : failures_ + 1;
  if (!ready_) return Stop();
  if (proc_ >= 0) ShowItself(proc_, pid_, socket_);
}

void Zygote::Stop() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (socket_ >= 0) ::close(socket_);
  pid_ = -1;
  socket_ = -1;
  socket_numbers_ = {};
  ready_ = false;
  forks_ = 0;
  namespaces_ = -1;
}

}  // namespace polybox::jail::init
