#include "exec/streams.h"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <thread>
#include <unistd.h>

#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include "sys/pipe.h"

namespace polybox::exec {
namespace {

using sys::MakePipe;
using sys::Pipe;
using sys::SetNonBlocking;

/// Moves bytes between us and the guest until the run has ended.
class Pump {
 public:
  Pump(const jail::Slot& slot, const Streams& streams) : slot_(slot), streams_(streams) {}

  /// Opens the pipes and puts the guest's ends into the request.
  Status Connect(jail::RunRequest& request) {
    POLYBOX_ASSIGN_OR_RETURN(out_, MakePipe());
    POLYBOX_ASSIGN_OR_RETURN(err_, MakePipe());
    SetNonBlocking(out_.reader.get());
    SetNonBlocking(err_.reader.get());
    request.stdout_fd = out_.writer.get();
    request.stderr_fd = err_.writer.get();
    // Always through a pipe: a file that the guest holds, it could open again through /proc, for
    // writing.
    POLYBOX_ASSIGN_OR_RETURN(in_, MakePipe());
    request.stdin_fd = in_.reader.get();
    SetNonBlocking(in_.writer.get());
    if (streams_.input < 0) in_.writer.reset();
    return {};
  }

  /// Until `ended` (an eventfd) says so. Then what is left in the pipes is taken: whoever could
  /// still write is dead.
  void Move(int ended) {
    bool running = true;
    while (running) {
      std::array<pollfd, 6> polled = {
          pollfd{ended, POLLIN, 0},
          pollfd{out_.reader.get(), POLLIN, 0},
          pollfd{err_.reader.get(), POLLIN, 0},
          pollfd{streams_.signals, POLLIN, 0},
          pollfd{in_.writer.valid() && pending_.empty() ? streams_.input : -1, POLLIN, 0},
          pollfd{pending_.empty() ? -1 : in_.writer.get(), POLLOUT, 0},
      };
      if (::poll(polled.data(), polled.size(), -1) < 0) continue;
      running = polled[0].revents == 0;
      if (polled[1].revents != 0) TakeOutput(out_.reader, streams_.out);
      if (polled[2].revents != 0) TakeOutput(err_.reader, streams_.err);
      if (polled[3].revents != 0) PassSignal();
      if (polled[4].revents != 0) TakeInput();
      if (polled[5].revents != 0) GiveInput();
    }
    while (TakeOutput(out_.reader, streams_.out) || TakeOutput(err_.reader, streams_.err)) {
    }
  }

  bool over_limit() const { return over_limit_; }

 private:
  /// One read. False when there is nothing more for now.
  bool TakeOutput(UniqueFd& reader, const Streams::Sink& sink) {
    if (!reader.valid()) return false;
    std::array<char, 65536> buffer;
    const ssize_t count = ::read(reader.get(), buffer.data(), buffer.size());
    if (count < 0) return errno == EINTR;
    if (count == 0) {
      reader.reset();
      return false;
    }
    const std::uint64_t room = streams_.limit.count() - taken_;
    const std::uint64_t kept = std::min(room, static_cast<std::uint64_t>(count));
    taken_ += kept;
    if (kept > 0) sink({buffer.data(), kept});
    if (kept < static_cast<std::uint64_t>(count) && !over_limit_) {
      over_limit_ = true;
      slot_.Signal(SIGKILL);
    }
    return true;
  }

  void PassSignal() {
    signalfd_siginfo info{};
    if (::read(streams_.signals, &info, sizeof info) != sizeof info) return;
    // The second time somebody asks, they mean it.
    slot_.Signal(asked_ ? SIGKILL : static_cast<int>(info.ssi_signo));
    asked_ = true;
  }

  void TakeInput() {
    std::array<char, 65536> buffer;
    const ssize_t count = ::read(streams_.input, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) {
      in_.writer.reset();
      return;
    }
    pending_.assign(buffer.data(), static_cast<std::size_t>(count));
    GiveInput();
  }

  void GiveInput() {
    const ssize_t count = ::write(in_.writer.get(), pending_.data(), pending_.size());
    if (count >= 0) {
      pending_.erase(0, static_cast<std::size_t>(count));
    } else if (errno != EAGAIN && errno != EINTR) {
      pending_.clear();  // the guest does not read any more
      in_.writer.reset();
    }
  }

  const jail::Slot& slot_;
  const Streams& streams_;
  Pipe out_;
  Pipe err_;
  Pipe in_;
  std::string pending_;
  std::uint64_t taken_ = 0;
  bool over_limit_ = false;
  bool asked_ = false;
};

}  // namespace

Result<jail::Outcome> RunWithStreams(jail::Slot& slot, jail::RunRequest request,
                                     const Streams& streams) {
  Pump pump(slot, streams);
  POLYBOX_RETURN_IF_ERROR(pump.Connect(request));
  const UniqueFd ended(::eventfd(0, EFD_CLOEXEC));
  if (!ended.valid()) return Error::FromErrno("make an eventfd");
  std::optional<Result<jail::Outcome>> outcome;
  {
    const std::jthread runner([&] {
      outcome = slot.Run(request);
      ::eventfd_write(ended.get(), 1);
    });
    pump.Move(ended.get());
  }
  if (outcome->ok() && pump.over_limit()) (*outcome)->end = jail::End::kOutputLimit;
  return *std::move(outcome);
}

}  // namespace polybox::exec
