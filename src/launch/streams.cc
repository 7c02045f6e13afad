#include "launch/streams.h"

#include <array>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <sys/signalfd.h>

#include "launch/read_pace.h"
#include "sys/pipe.h"

namespace polybox::launch {
namespace {

using sys::MakePipe;
using sys::Pipe;
using sys::SetNonBlocking;

/// Moves bytes between polybox and the guest until the run has ended. jail::Slot::Run() calls
/// Await() and Attend() on the thread that runs the step.
class Pump : public jail::Attendant {
 public:
  Pump(const jail::Slot& slot, const Streams& streams)
      : slot_(slot), streams_(streams), pending_(streams.input_bytes) {}

  /// Makes the pipes and puts the guest's ends into the request.
  Status Connect(jail::RunRequest& request) {
    POLYBOX_ASSIGN_OR_RETURN(out_, MakePipe());
    POLYBOX_ASSIGN_OR_RETURN(err_, MakePipe());
    SetNonBlocking(out_.reader.get());
    SetNonBlocking(err_.reader.get());
    request.stdout_fd = out_.writer.get();
    request.stderr_fd = err_.writer.get();
    // The guest always gets a pipe. A file it could open again for writing through /proc.
    POLYBOX_ASSIGN_OR_RETURN(in_, MakePipe());
    request.stdin_fd = in_.reader.get();
    SetNonBlocking(in_.writer.get());
    if (!pending_.empty()) GiveInput();
    CloseInputWhenDone();
    return {};
  }

  std::chrono::nanoseconds Await(std::vector<pollfd>& polled) override {
    // RunWithStreams() sends this signal as soon as stop is requested, but before the guest runs it
    // has no effect. The slot calls this function when a signal has an effect.
    if (streams_.cancel.stop_requested()) slot_.Signal(SIGKILL);
    const auto add = [&](int fd, short events) {
      if (fd >= 0) polled.push_back({fd, events, 0});
    };
    const auto rest = pace_.Rest(ReadPace::Clock::now());
    const bool rests = rest > ReadPace::Clock::duration::zero();
    if (!rests) {
      add(out_.reader.get(), POLLIN);
      add(err_.reader.get(), POLLIN);
    }
    add(streams_.signals, POLLIN);
    if (in_.writer.valid() && pending_.empty()) add(streams_.input, POLLIN);
    if (!pending_.empty()) add(in_.writer.get(), POLLOUT);
    return rests ? rest : kNever;
  }

  void Attend() override {
    const std::uint64_t taken =
        TakeOutput(out_.reader, streams_.out) + TakeOutput(err_.reader, streams_.err);
    pace_.Took(taken, ReadPace::Clock::now());
    if (Readable(streams_.signals)) PassSignal();
    if (!pending_.empty()) {
      GiveInput();
    } else if (in_.writer.valid() && Readable(streams_.input)) {
      TakeInput();
    }
    CloseInputWhenDone();
  }

  /// Reads what is left in the pipes after the run, but no more than the capacity of a pipe. All
  /// processes that could still write are dead or are about to be killed.
  void Drain() {
    DrainOne(out_.reader, streams_.out);
    DrainOne(err_.reader, streams_.err);
  }

  bool over_limit() const { return over_limit_; }

 private:
  static bool Readable(int fd) {
    pollfd polled = {fd, POLLIN, 0};
    return fd >= 0 && ::poll(&polled, 1, 0) > 0;
  }

  void CloseInputWhenDone() {
    if (streams_.input < 0 && pending_.empty()) in_.writer.reset();
  }

  void DrainOne(UniqueFd& reader, const Streams::Sink& sink) {
    auto left = static_cast<std::int64_t>(reader.valid() ? ::fcntl(reader.get(), F_GETPIPE_SZ) : 0);
    while (left > 0) {
      const std::uint64_t taken = TakeOutput(reader, sink);
      if (taken == 0) return;
      left -= static_cast<std::int64_t>(taken);
    }
  }

  /// Reads once. Returns the number of bytes, 0 when there is nothing to read now.
  std::uint64_t TakeOutput(UniqueFd& reader, const Streams::Sink& sink) {
    if (!reader.valid()) return 0;
    std::array<char, 65536> buffer;
    ssize_t count = 0;
    do {
      count = ::read(reader.get(), buffer.data(), buffer.size());
    } while (count < 0 && errno == EINTR);
    // The end of the stream: all writers have closed it.
    if (count == 0) reader.reset();
    if (count <= 0) return 0;
    const auto taken = static_cast<std::uint64_t>(count);
    const std::uint64_t kept =
        streams_.limit ? std::min(streams_.limit->count() - taken_, taken) : taken;
    taken_ += kept;
    if (kept > 0) sink({buffer.data(), kept});
    // Output beyond the limit is dropped, and the guest is killed.
    if (kept < taken && !over_limit_) {
      over_limit_ = true;
      slot_.Signal(SIGKILL);
    }
    return taken;
  }

  void PassSignal() {
    signalfd_siginfo info{};
    if (::read(streams_.signals, &info, sizeof info) != sizeof info) return;
    // The second signal kills the guest, whichever signal it is.
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
  ReadPace pace_;
  std::uint64_t taken_ = 0;
  bool over_limit_ = false;
  bool asked_ = false;
};

}  // namespace

Result<jail::Outcome> RunWithStreams(jail::Slot& slot, jail::RunRequest request,
                                     const Streams& streams) {
  Pump pump(slot, streams);
  POLYBOX_RETURN_IF_ERROR(pump.Connect(request));
  request.attendant = &pump;
  // Runs on the thread that requests the stop, while this thread waits for the guest.
  const std::stop_callback kill(streams.cancel, [&slot] { slot.Signal(SIGKILL); });
  Result<jail::Outcome> outcome = slot.Run(request);
  pump.Drain();
  // The slot reports a killed guest. Only the pump knows that the output limit was the reason.
  if (outcome.ok() && pump.over_limit()) outcome->end = jail::End::kOutputLimit;
  return outcome;
}

}  // namespace polybox::launch
