#include "shells/shell.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

#include "base/uuid.h"
#include "sys/pipe.h"

namespace polybox::shells {
namespace {

constexpr std::size_t kRead = 64U << 10U;
/// How often the thread of a shell looks for what no descriptor tells: the end and idleness.
constexpr int kLookMs = 100;
/// How long the end of a terminal's output may take to come: the kernel passes it on in a thread.
constexpr int kTerminalSettleMs = 20;
/// What may wait for a command that does not read.
constexpr std::size_t kMostInput = 1U << 20U;

/// The ends of pipes that the command gets, and ours.
struct Pipes {
  std::vector<UniqueFd> readers;
  std::vector<UniqueFd> writers;
  UniqueFd null;
};

Result<Pipes> ConnectPipes(const ShellOptions& options, machine::Command& command) {
  Pipes pipes;
  if (options.terminal) return pipes;
  const int count = options.streams == Streams::kMerged ? 1 : 2;
  for (int i = 0; i < count; ++i) {
    POLYBOX_ASSIGN_OR_RETURN(sys::Pipe pipe, sys::MakePipe());
    sys::SetNonBlocking(pipe.reader.get());
    pipes.readers.push_back(std::move(pipe.reader));
    pipes.writers.push_back(std::move(pipe.writer));
  }
  command.stdout_fd = pipes.writers.front().get();
  command.stderr_fd = pipes.writers.back().get();
  if (options.input != Input::kNone) return pipes;
  pipes.null = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!pipes.null.valid()) return Error::FromErrno("open /dev/null");
  command.stdin_fd = pipes.null.get();
  return pipes;
}

}  // namespace

int ExitCodeOf(const jail::Outcome& outcome) {
  // As timeout(1).
  constexpr int kTimedOut = 124;
  return outcome.end == jail::End::kTimedOut ? kTimedOut : jail::ShellCode(outcome);
}

Result<std::shared_ptr<Shell>> Shell::Start(machine::Machine& machine, ShellOptions options,
                                            const OutputLogOptions& log) {
  std::unique_ptr<EventLog> events;
  if (options.watching) {
    POLYBOX_ASSIGN_OR_RETURN(ErrorPatterns patterns,
                             ErrorPatterns::Compile(options.watching->patterns));
    events = std::make_unique<EventLog>(std::move(patterns));
  }
  machine::Command command = {.argv = {"/bin/bash", "-c", options.command},
                              .directory = options.directory,
                              .wall_time = options.timeout,
                              .terminal = options.terminal};
  if (options.terminal) command.env["TERM"] = "xterm-256color";
  POLYBOX_ASSIGN_OR_RETURN(Pipes pipes, ConnectPipes(options, command));
  const auto started = std::chrono::system_clock::now();
  POLYBOX_ASSIGN_OR_RETURN(jail::Process process, machine.Start(command));
  pipes.writers.clear();
  std::shared_ptr<Shell> shell(
      new Shell({std::move(options), started, std::move(process), std::move(events)}));
  POLYBOX_RETURN_IF_ERROR(shell->Connect(std::move(pipes.readers), log));
  return shell;
}

Shell::Shell(Parts parts)
    : options_(std::move(parts.options)),
      id_(NewUuid()),
      started_(parts.started),
      process_(std::move(parts.process)),
      events_(std::move(parts.events)) {}

Shell::~Shell() {
  // The command may write until its end; the thread reads until then.
  (void)process_.End();
  pump_.request_stop();
  Wake();
}

Status Shell::Connect(std::vector<UniqueFd> readers, const OutputLogOptions& log) {
  wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.valid()) return Error::FromErrno("make an event descriptor");
  const auto add = [&](std::string name) {
    streams_.push_back({std::move(name), std::make_unique<OutputLog>(log)});
    return streams_.back().log.get();
  };
  jail::ProcessStreams& given = process_.streams();
  if (given.terminal.valid()) {
    sys::SetNonBlocking(given.terminal.get());
    sources_.push_back({.own = {}, .fd = given.terminal.get(), .log = add("output")});
  }
  const bool merged = readers.size() == 1;
  for (UniqueFd& reader : readers) {
    const char* name = streams_.empty() ? "stdout" : "stderr";
    const int fd = reader.get();
    sources_.push_back({.own = std::move(reader), .fd = fd, .log = add(merged ? "output" : name)});
  }
  // A program that could not be started has no terminal.
  if (sources_.empty()) add("output");
  if (!sources_.empty()) sources_.back().is_watched = events_ != nullptr;
  if (events_) events_->Add(Event::Kind::kStarted);
  input_pipe_ = std::move(given.stdin_pipe);
  if (input_pipe_.valid()) sys::SetNonBlocking(input_pipe_.get());
  input_open_ = input_pipe_.valid() || given.terminal.valid();
  input_ = options_.input_text;
  close_input_ = options_.input == Input::kText && !options_.terminal;
  pump_ = std::jthread([this](const std::stop_token& stop) { Pump(stop); });
  return {};
}

const OutputLog* Shell::FindStream(std::string_view name) const {
  const auto found = std::ranges::find(streams_, name, &Stream::name);
  return found == streams_.end() ? nullptr : found->log.get();
}

void Shell::Pump(const std::stop_token& stop) {
  // Signals are for the main thread. A command that closed its input must not end polybox.
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  while (true) {
    PollOnce();
    SendInput();
    TakeEnd();
    CheckIdle();
    if (IsAlive() && !stop.stop_requested()) continue;
    TakeEnd();
    const std::lock_guard lock(reading_);
    for (Source& source : sources_) ReadWhatIsThere(source);
    Notify();
    return;
  }
}

void Shell::PollOnce() {
  std::vector<pollfd> waiting = {{wake_.get(), POLLIN, 0}};
  {
    const std::lock_guard lock(reading_);
    for (const Source& source : sources_) {
      if (source.is_open) waiting.push_back({source.fd, POLLIN, 0});
    }
  }
  const bool all_closed = waiting.size() == 1;
  {
    const std::lock_guard lock(input_mutex_);
    const int fd = options_.terminal ? process_.streams().terminal.get() : input_pipe_.get();
    if (!input_.empty() && fd >= 0) waiting.push_back({fd, POLLOUT, 0});
  }
  if (all_closed && waiting.size() == 1) {
    // No descriptor tells the end, which usually comes right now.
    (void)process_.WaitForTree(std::chrono::milliseconds(kLookMs));
    return;
  }
  if (::poll(waiting.data(), waiting.size(), kLookMs) <= 0) return;
  std::uint64_t count = 0;
  if (waiting[0].revents != 0) (void)!::read(wake_.get(), &count, sizeof count);
  const std::lock_guard lock(reading_);
  for (Source& source : sources_) (void)ReadOnce(source);
}

std::size_t Shell::ReadOnce(Source& source) {
  if (!source.is_open) return 0;
  std::array<char, kRead> buffer;
  const ssize_t count = ::read(source.fd, buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (count <= 0) {
    // A terminal without programs answers with EIO.
    source.is_open = false;
    return 0;
  }
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
  source.log->Append(bytes);
  last_output_ = std::chrono::steady_clock::now();
  if (source.is_watched) events_->Feed(bytes);
  Notify();
  return bytes.size();
}

void Shell::Settle() {
  const std::lock_guard lock(reading_);
  if (settled_) return;
  settled_ = true;
  for (Source& source : sources_) {
    if (!source.own.valid()) {
      pollfd waiting = {source.fd, POLLIN, 0};
      (void)::poll(&waiting, 1, kTerminalSettleMs);
    }
    ReadWhatIsThere(source);
  }
}

void Shell::ReadWhatIsThere(Source& source) {
  int left = 0;
  if (::ioctl(source.fd, FIONREAD, &left) != 0) return;
  while (left > 0) {
    const std::size_t count = ReadOnce(source);
    if (count == 0) return;
    left -= static_cast<int>(count);
  }
}

void Shell::TakeEnd() {
  if (end_taken_) return;
  const std::optional<jail::Outcome> outcome = process_.Wait(Duration::zero());
  if (!outcome) return;
  end_taken_ = true;
  Settle();
  if (events_) {
    const std::lock_guard lock(reading_);
    events_->FinishLine();
    events_->Add(Event::Kind::kExited, fmt::format("exit={}", ExitCodeOf(*outcome)));
  }
  Notify();
}

void Shell::CheckIdle() {
  if (!options_.watching || options_.watching->idle_timeout == Duration::zero() || end_taken_) {
    return;
  }
  using std::chrono::duration_cast;
  using std::chrono::seconds;
  const Duration allowed = options_.watching->idle_timeout;
  Duration silent{};
  {
    const std::lock_guard lock(reading_);
    silent = std::chrono::steady_clock::now() - last_output_;
  }
  if (silent <= allowed) return;
  events_->Add(
      Event::Kind::kIdleTimeout,
      fmt::format("no output for {}s (configured idle_timeout={}s)",
                  duration_cast<seconds>(silent).count(), duration_cast<seconds>(allowed).count()));
  (void)process_.End();
}

void Shell::SendInput() {
  const std::lock_guard lock(input_mutex_);
  if (!input_open_) return;
  const int fd = options_.terminal ? process_.streams().terminal.get() : input_pipe_.get();
  while (!input_.empty()) {
    const ssize_t count = ::write(fd, input_.data(), input_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) {
      // The command has closed its input, or has ended.
      input_open_ = false;
      input_.clear();
      input_pipe_.reset();
      return;
    }
    input_.erase(0, static_cast<std::size_t>(count));
  }
  if (!close_input_) return;
  input_open_ = false;
  input_pipe_.reset();
}

Status Shell::Write(std::string_view text) {
  {
    const std::lock_guard lock(input_mutex_);
    if (!input_open_ || close_input_) {
      return Error(ErrorKind::kInvalid, fmt::format("stdin of shell_id {} is closed", id_));
    }
    if (input_.size() + text.size() > kMostInput) {
      return Error(
          ErrorKind::kUnavailable,
          fmt::format("shell_id {} does not read: {} bytes wait for it", id_, input_.size()));
    }
    input_.append(text);
  }
  Wake();
  return {};
}

Status Shell::CloseInput() {
  // Ctrl-D.
  if (options_.terminal) return Write("\x04");
  {
    const std::lock_guard lock(input_mutex_);
    close_input_ = true;
  }
  Wake();
  return {};
}

Status Shell::Resize(jail::TerminalSize size) {
  if (!options_.terminal) {
    return Error(ErrorKind::kInvalid, fmt::format("shell_id {} has no terminal", id_));
  }
  const std::lock_guard lock(input_mutex_);
  return process_.Resize(size);
}

std::optional<jail::Outcome> Shell::Wait(Duration most) {
  std::optional<jail::Outcome> outcome = process_.Wait(most);
  if (outcome) Settle();
  return outcome;
}

void Shell::Await(const std::function<bool()>& happened, Duration most) {
  const auto deadline = std::chrono::steady_clock::now() + most;
  std::uint64_t seen = 0;
  while (true) {
    {
      const std::lock_guard lock(changed_mutex_);
      seen = changes_;
    }
    // Without the lock: the question may take output, which is a change.
    if (happened()) return;
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) return;
    const auto look = std::min(deadline, now + std::chrono::milliseconds(kLookMs));
    std::unique_lock lock(changed_mutex_);
    changed_.wait_until(lock, look, [&] { return changes_ != seen; });
  }
}

void Shell::Wake() const {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

void Shell::Notify() {
  {
    const std::lock_guard lock(changed_mutex_);
    ++changes_;
  }
  changed_.notify_all();
  const std::lock_guard lock(told_mutex_);
  for (const auto& [number, changed] : told_) changed();
}

std::uint64_t Shell::TellChanges(std::function<void()> changed) {
  const std::lock_guard lock(told_mutex_);
  told_[++last_told_] = std::move(changed);
  return last_told_;
}

void Shell::StopTelling(std::uint64_t number) {
  const std::lock_guard lock(told_mutex_);
  told_.erase(number);
}

}  // namespace polybox::shells
