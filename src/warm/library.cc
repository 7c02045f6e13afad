#include "warm/library.h"

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <sys/resource.h>

#include "jail/init/guest.h"
#include "jail/init/messages.h"
#include "jail/init/step_result.h"
#include "warm/arguments.h"
#include "warm/entry.h"
#include "warm/fork.h"
#include "warm/python.h"

namespace polybox::warm {
namespace {

enum class State : std::uint8_t {
  kNone,     ///< The C library's functions are as ever.
  kZygote,   ///< fork() makes guests.
  kWaiting,  ///< read(62) waits for the run.
  kRunning,  ///< read(62) into the memory that the run went to ends the process.
};

using Fork = pid_t (*)();
using Read = ssize_t (*)(int, void*, std::size_t);
using Open = int (*)(const char*, int, ...);

State state = State::kNone;
Fork next_fork = nullptr;
Read next_read = nullptr;
Open next_open = nullptr;
/// The program's path, or "", and whether a placeholder stands for the program. Not a std::string:
/// Begin() runs before constructors.
const char* entry = "";
bool has_placeholder = false;
int started_fd = init::kWarmStarted;
bool has_first_environment = false;
// Constant-initialised, since Begin() runs before constructors.
constinit init::LastWord last_word;
/// The server does not know yet that the interpreter is ready: it was executed in its cell, not
/// forked.
bool says_that_it_is_ready = false;
/// The run, from its receipt until its program begins.
init::Run taken;
/// The variables that the interpreter was started with, without those of polybox; then null.
char** first_environment = nullptr;
/// The buffer that received the run, in an interpreter that was executed and keeps it. A program
/// that reads from a descriptor of the same number has a buffer of its own. A forked interpreter
/// frees the buffer, and its program may get the same memory.
void* run_buffer = nullptr;

/// Runs before main(). After it no trace shows how this library was loaded.
__attribute__((constructor)) void Begin() {
  next_fork = reinterpret_cast<Fork>(::dlsym(RTLD_NEXT, "fork"));
  next_read = reinterpret_cast<Read>(::dlsym(RTLD_NEXT, "read"));
  next_open = reinterpret_cast<Open>(::dlsym(RTLD_NEXT, "open"));
  const char* variable = ::getenv(init::kWarmVariable);
  if (variable == nullptr) return;
  const std::string_view given = variable;
  const std::size_t space = given.find(' ');
  state = given.substr(0, space) == "zygote" ? State::kZygote : State::kWaiting;
  says_that_it_is_ready = state == State::kWaiting;
  entry = ::strdup(variable + space + 1);
  // No program that is started from here inherits these descriptors, not even the program that
  // replaces this one.
  ::fcntl(init::kWarmSocket, F_SETFD, FD_CLOEXEC);
  if (state == State::kWaiting) {
    ::fcntl(init::kWarmStarted, F_SETFD, FD_CLOEXEC);
    last_word.Map(init::kWarmWord);
    ::close(init::kWarmWord);
  }
  ::unsetenv(init::kWarmVariable);
  ::unsetenv("LD_PRELOAD");
  ::unsetenv("LD_BIND_NOW");
  std::size_t count = 1;
  for (char** each = environ; *each != nullptr; ++each) ++count;
  first_environment = static_cast<char**>(::calloc(count, sizeof(char*)));
  if (first_environment != nullptr)
    std::memcpy(first_environment, environ, (count - 1) * sizeof(char*));
}

/// Returns whether the program's environment is the one that the interpreter was started with.
bool IsFirstEnvironment(const std::vector<std::string>& env) {
  if (first_environment == nullptr) return false;
  char** first = first_environment;
  for (const std::string& variable : env) {
    if (*first == nullptr || variable != *first) return false;
    ++first;
  }
  return *first == nullptr;
}

/// Returns only on failure.
init::Failed ExecuteTaken() {
  return init::Execute(init::Pointers(taken.argv).data(), init::Pointers(taken.env).data());
}

/// Reports a failure to the server and ends the process.
[[noreturn]] void GiveUp(const init::Failed& failed) {
  init::Send(init::kWarmSocket, init::Encode(failed));
  ::_exit(127);
}

// An interpreter may have set close-on-exec on its streams, to keep them from its children.
class StreamFlags {
 public:
  StreamFlags() {
    for (int fd = 0; fd < kStreams; ++fd) flags_[fd] = ::fcntl(fd, F_GETFD);
  }
  void Restore() const {
    for (int fd = 0; fd < kStreams; ++fd) {
      if (flags_[fd] > 0) ::fcntl(fd, F_SETFD, flags_[fd]);
    }
  }

 private:
  static constexpr int kStreams = 3;
  int flags_[kStreams] = {};
};

/// Reports that the guest has taken its program, with the processor time of the interpreter's
/// start. The cell's init subtracts that time, since it is not the program's.
bool SayStarted() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const std::uint64_t word = init::PackUsedBefore(used.ru_utime, used.ru_stime);
  return ::write(started_fd, &word, sizeof word) == sizeof word;
}

/// Returns whether the interpreter can continue with the run. It then has the run's arguments and
/// environment.
bool TakeOver(const init::Run& run) {
  if (!run.warm || (has_placeholder && !CanFollow(entry))) return false;
  has_first_environment = IsFirstEnvironment(run.env);
  return SetArguments(run.argv, run.env,
                      has_first_environment ? Variables::kStay : Variables::kReplace);
}

}  // namespace

bool HasFirstEnvironment() {
  return has_first_environment;
}

init::LastWord& LastWordOfProgram() {
  return last_word;
}

const init::Run& TakeRun() {
  if (says_that_it_is_ready) {
    init::Send(init::kWarmSocket, init::Encode(init::MessageKind::kDone));
  }
  init::Received received;
  init::Run& run = taken;
  if (!init::Receive(init::kWarmSocket, received)) ::_exit(127);
  if (!init::Decode(received.bytes, run)) GiveUp({init::Stage::kMessage, EBADMSG, -1});
  const StreamFlags flags;
  if (!SayStarted()) ::_exit(127);
  if (const init::StepResult placed =
          init::TakePlace(run.directory.c_str(), run.limits, received.fds.all());
      !placed.ok) {
    GiveUp(placed.failed);
  }
  const bool goes_on = TakeOver(run);
  if (const init::StepResult filtered = init::InstallFilter(run.filter); !filtered.ok) {
    GiveUp(filtered.failed);
  }
  ::close(started_fd);
  if (!goes_on) GiveUp(ExecuteTaken());
  flags.Restore();
  ::close(init::kWarmSocket);
  state = says_that_it_is_ready ? State::kRunning : State::kNone;
  return run;
}

std::string TextOf(const init::Run& run) {
  std::string text = std::to_string(run.argv.size()) + '\0';
  for (const std::string& argument : run.argv) text += argument + '\0';
  for (const std::string& variable : run.env) text += variable + '\0';
  return text;
}

void BecomeGuest() {
  started_fd = ServeForks(next_fork);
  state = State::kWaiting;
}

void StartCold() {
  if (!taken.argv.empty()) ExecuteTaken();
  ::_exit(127);
}

}  // namespace polybox::warm

namespace warm = polybox::warm;

extern "C" __attribute__((visibility("default"))) pid_t fork() {
  if (warm::state != warm::State::kZygote) return warm::next_fork();
  if (const pid_t nobody = warm::OfferToPython()) return nobody;
  warm::BecomeGuest();
  return 0;
}

extern "C" __attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  // meaningless without O_CREAT or O_TMPFILE, but passed on
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  const bool is_entry = warm::state == warm::State::kZygote && std::strcmp(path, warm::entry) == 0;
  if (!is_entry) return warm::next_open(path, flags, mode);
  warm::has_placeholder = true;
  return warm::OpenPlaceholder();
}

extern "C" __attribute__((visibility("default"))) ssize_t read(int fd, void* buffer,
                                                               std::size_t size) {
  if (fd != polybox::jail::init::kWarmSocket || warm::state < warm::State::kWaiting) {
    return warm::next_read(fd, buffer, size);
  }
  if (warm::state == warm::State::kRunning) {
    if (buffer != warm::run_buffer) return warm::next_read(fd, buffer, size);
    warm::LastWordOfProgram().Say(0);
    ::_exit(0);
  }
  const std::string text = warm::TextOf(warm::TakeRun());
  if (text.size() > size) warm::StartCold();
  warm::run_buffer = buffer;
  std::memcpy(buffer, text.data(), text.size());
  return static_cast<ssize_t>(text.size());
}
