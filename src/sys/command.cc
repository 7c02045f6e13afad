#include "sys/command.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/printable.h"
#include "base/scope_exit.h"
#include "base/unique_fd.h"
#include "sys/pipe.h"

extern char** environ;  // POSIX requires programs to declare it

namespace polybox::sys {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::vector<std::string> EnvironmentOf(const Command& command) {
  std::vector<std::string> merged;
  const bool inherits = command.inherit == Command::Inherit::kAll;
  for (char** entry = environ; inherits && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string name(text.substr(0, text.find('=')));
    if (!command.env.contains(name)) merged.emplace_back(text);
  }
  for (const auto& [name, value] : command.env) merged.push_back(fmt::format("{}={}", name, value));
  return merged;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Starts `command` with its output going to the two descriptors (borrowed). Returns the PID.
Result<pid_t> Spawn(const Command& command, int out, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const ScopeExit destroy_actions([&] { posix_spawn_file_actions_destroy(&actions); });
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, command.directory.c_str());

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const ScopeExit destroy_attributes([&] { posix_spawnattr_destroy(&attributes); });
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t no_signals;
  sigemptyset(&no_signals);
  posix_spawnattr_setsigmask(&attributes, &no_signals);

  std::vector<std::string> argv = command.argv;
  std::vector<std::string> env = EnvironmentOf(command);
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, argv[0].c_str(), &actions, &attributes,
                                   Pointers(argv).data(), Pointers(env).data());
  if (failed != 0) return Error::FromErrno("start " + command.argv[0], failed);
  return pid;
}

/// Reads what is available and keeps at most `keep`. Returns false at the end of the stream.
bool Drain(int fd, std::string& kept, Bytes keep) {
  std::array<char, 16384> buffer;
  const ssize_t count = ::read(fd, buffer.data(), buffer.size());
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  const std::size_t room = keep.count() - std::min<std::size_t>(kept.size(), keep.count());
  kept.append(buffer.data(), std::min(room, static_cast<std::size_t>(count)));
  return true;
}

int MillisecondsUntil(SteadyClock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

/// Reads both streams until the program ends or its timeout passes. Returns true when the program
/// ended.
bool ReadUntilExit(int pidfd, const std::array<UniqueFd*, 2>& readers,
                   const std::array<std::string*, 2>& kept, const Command& command) {
  const auto deadline = SteadyClock::now() + command.timeout;
  while (true) {
    std::array<pollfd, 3> polled = {pollfd{pidfd, POLLIN, 0}, pollfd{readers[0]->get(), POLLIN, 0},
                                    pollfd{readers[1]->get(), POLLIN, 0}};
    const int ready = ::poll(polled.data(), polled.size(), MillisecondsUntil(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    for (std::size_t i = 0; i < readers.size(); ++i) {
      if (polled[i + 1].revents == 0) continue;
      if (!Drain(readers[i]->get(), *kept[i], command.keep)) readers[i]->reset();
    }
    // The pipes still hold what the program wrote before it ended; the caller drains them.
    if (polled[0].revents != 0) return true;
  }
}

/// Reads the rest without waiting, because a process that left the group may still hold the pipe
/// open.
void DrainRest(const UniqueFd& reader, std::string& kept, Bytes keep) {
  if (!reader.valid()) return;
  std::size_t before = 0;
  do {
    before = kept.size();
    if (!Drain(reader.get(), kept, keep)) return;
  } while (kept.size() != before);
}

CommandOutput Reap(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  CommandOutput output;
  if (WIFEXITED(status)) output.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) output.signal = WTERMSIG(status);
  return output;
}

std::string LastLine(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.remove_suffix(1);
  }
  return Printable(text.substr(text.rfind('\n') + 1), 200);
}

}  // namespace

std::string CommandOutput::Reason() const {
  if (timed_out) return "timed out";
  if (signal != 0) return fmt::format("killed by SIG{}", ::sigabbrev_np(signal));
  return fmt::format("exit code {}", exit_code);
}

std::string CommandOutput::Failure() const {
  const std::string last = LastLine(err.empty() ? out : err);
  return last.empty() ? Reason() : fmt::format("{}: {}", Reason(), last);
}

Result<CommandOutput> RunCommand(const Command& command) {
  POLYBOX_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  POLYBOX_ASSIGN_OR_RETURN(Pipe err, MakePipe());
  SetNonBlocking(out.reader.get());
  SetNonBlocking(err.reader.get());
  POLYBOX_ASSIGN_OR_RETURN(const pid_t pid, Spawn(command, out.writer.get(), err.writer.get()));
  out.writer.reset();
  err.writer.reset();
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) {
    const Error error = Error::FromErrno("watch " + command.argv[0]);
    ::kill(-pid, SIGKILL);
    Reap(pid);
    return error;
  }

  std::string out_text;
  std::string err_text;
  const bool ended =
      ReadUntilExit(pidfd.get(), {&out.reader, &err.reader}, {&out_text, &err_text}, command);
  ::kill(-pid, SIGKILL);
  CommandOutput output = Reap(pid);
  output.timed_out = !ended;
  DrainRest(out.reader, out_text, command.keep);
  DrainRest(err.reader, err_text, command.keep);
  output.out = std::move(out_text);
  output.err = std::move(err_text);
  return output;
}

std::string FindOnPath(std::string_view name, std::string_view path) {
  if (name.empty() || name.find('/') != std::string_view::npos) return "";
  while (!path.empty()) {
    const std::string_view directory = path.substr(0, path.find(':'));
    path.remove_prefix(std::min(path.size(), directory.size() + 1));
    if (directory.empty() || directory[0] != '/') continue;
    std::string candidate = fmt::format("{}/{}", directory, name);
    struct stat info{};
    if (::stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return "";
}

}  // namespace polybox::sys
