#include "jail/init/zygote.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "jail/init/guest.h"
#include "jail/init/messages.h"
#include "jail/init/netlink.h"
#include "jail/init/protocol.h"
#include "jail/init/root.h"
#include "jail/init/sockets.h"
#include "jail/init/warm_command.h"

namespace polybox::jail::init {
namespace {

// The capabilities to enter a cell's namespaces, and to become the guest there.
constexpr int kKept[] = {CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID};

// Guests of one zygote have the same hash seed and the same addresses, so a zygote is replaced
// after this many.
constexpr int kMostForks = 4096;
// An interpreter that cannot be started ahead is not tried for ever.
constexpr int kMostFailures = 3;
constexpr int kMostMilliseconds = 20'000;

/// Sends the zygote its own stat and maps files of /proc. The zygote's own namespaces have no
/// /proc.
void ShowItself(int proc, pid_t pid, int socket) {
  const auto open = [&](const char* name) {
    const std::string path = std::to_string(pid) + "/" + name;
    return UniqueFd(::openat(proc, path.c_str(), O_RDONLY | O_CLOEXEC));
  };
  const UniqueFd files[] = {open("stat"), open("maps")};
  std::vector<int> sent;
  for (const UniqueFd& file : files) {
    if (file.valid()) sent.push_back(file.get());
  }
  Send(socket, Encode(MessageKind::kDone), sent);
}

/// Gives the process streams of the same kind as guests have, so that what an interpreter derives
/// from them holds for guests too. All three are ends of one pipe, which no process reads.
bool TakePipeForStreams() {
  int ends[2];
  if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) return false;
  return ::dup2(ends[0], STDIN_FILENO) >= 0 && ::dup2(ends[1], STDOUT_FILENO) >= 0 &&
         ::dup2(ends[1], STDERR_FILENO) >= 0;
}

/// What the zygote does between its fork and its exec. Returns on failure.
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
  // Symbols that are resolved here need not be resolved in every fork.
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
  proc_.reset(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

int KeepForZygote() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return errno;
  for (const int capability : kKept) data[0].inheritable |= 1U << capability;
  return OrErrno(::syscall(SYS_capset, &header, data));
}

bool Zygote::Prepare(const WarmCommand& warm, bool between_sessions, RouteSockets& route_sockets) {
  // A zygote starts only where no guest has left anything that it could take for its own. Its start
  // is always completed.
  if (between_sessions) {
    if (ready_ && forks_ >= kMostForks) Stop();
    if (pid_ < 0 && failures_ < kMostFailures && Start(warm)) AwaitReady(route_sockets);
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
  socket_.reset(sockets[0]);
  const UniqueFd of_zygote(sockets[1]);
  pid_ = ::fork();
  if (pid_ == 0) {
    BecomeZygote(of_zygote.get(), warm);
    ::_exit(127);
  }
  if (pid_ < 0) Stop();
  return pid_ > 0;
}

void Zygote::AwaitReady(RouteSockets& route_sockets) {
  // The libraries that the interpreter loads may list network interfaces, so calls are answered
  // meanwhile.
  const bool heard = route_sockets.AnswerUntilReadable(socket_.get(), kMostMilliseconds);
  Received word;
  ready_ = heard && ReceiveShort(socket_.get(), word) && KindOf(word.bytes) == MessageKind::kDone;
  failures_ = ready_ ? 0 : failures_ + 1;
  if (!ready_) return Stop();
  if (proc_.valid()) ShowItself(proc_.get(), pid_, socket_.get());
}

void Zygote::Stop() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  socket_.reset();
  pid_ = -1;
  socket_numbers_ = {};
  ready_ = false;
  forks_ = 0;
  namespaces_ = -1;
}

}  // namespace polybox::jail::init
