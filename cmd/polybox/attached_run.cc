#include "attached_run.h"

#include <csignal>
#include <memory>
#include <mutex>
#include <poll.h>
#include <unistd.h>
#include <vector>

#include <sys/eventfd.h>
#include <sys/signalfd.h>

namespace polybox::cmd {
namespace {

/// Shared by the engine's threads and the waiting thread; `mutex` guards the members below it.
struct Shared {
  UniqueFd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex;
  /// A step is running, so the engine reads the signals.
  bool in_step = false;
  std::optional<exec::Answer> answer;

  void Wake() const {
    const std::uint64_t one = 1;
    // The write fails only when the counter is full, and a full counter is readable too. So the
    // waiter wakes in both cases.
    std::ignore = ::write(wake.get(), &one, sizeof one);
  }

  void OnStage(exec::Stage stage) {
    {
      const std::lock_guard lock(mutex);
      in_step = stage == exec::Stage::kCompiling || stage == exec::Stage::kRunning;
    }
    Wake();
  }

  void OnDone(exec::Answer&& done) {
    {
      const std::lock_guard lock(mutex);
      answer.emplace(std::move(done));
    }
    Wake();
  }
};

/// Waits for the answer on the calling thread, and cancels the request when a signal arrives before
/// a step.
class Waiter {
 public:
  Waiter(std::shared_ptr<Shared> shared, int signals)
      : shared_(std::move(shared)), signals_(signals) {}

  AttachedAnswer Wait(exec::Ticket& ticket) {
    while (true) {
      {
        const std::lock_guard lock(shared_->mutex);
        if (shared_->answer) return {*std::move(shared_->answer), ended_by_};
      }
      pollfd polled[] = {{shared_->wake.get(), POLLIN, 0}, {signals_, POLLIN, 0}};
      ::poll(polled, WatchesSignals() ? 2 : 1, -1);
      std::uint64_t ignored = 0;
      std::ignore = ::read(shared_->wake.get(), &ignored, sizeof ignored);
      if (TakeSignal()) ticket.Cancel();
    }
  }

 private:
  bool WatchesSignals() const {
    const std::lock_guard lock(shared_->mutex);
    return !shared_->in_step;
  }

  /// Reads a signal that arrived outside a step. The lock prevents a step from starting meanwhile,
  /// so this function never takes a signal that belongs to a step.
  bool TakeSignal() {
    const std::lock_guard lock(shared_->mutex);
    signalfd_siginfo info{};
    if (shared_->in_step) return false;
    // The signalfd does not block. NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection)
    if (::read(signals_, &info, sizeof info) != sizeof info) return false;
    ended_by_ = static_cast<int>(info.ssi_signo);
    return true;
  }

  std::shared_ptr<Shared> shared_;
  int signals_;
  int ended_by_ = 0;
};

}  // namespace

Result<UniqueFd> TakeSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction action{};
    ::sigaction(number, nullptr, &action);
    // A shell without job control makes its background commands ignore SIGINT.
    if (action.sa_handler != SIG_IGN) ::sigaddset(&set, number);
  }
  if (::pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) return Error::FromErrno("block signals");
  UniqueFd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return Error::FromErrno("make a signalfd");
  return fd;
}

AttachedAnswer RunAttached(exec::Executor& engine, exec::Request request, int signals) {
  const auto shared = std::make_shared<Shared>();
  request.attached.signals = signals;
  request.on_stage = [shared, next = std::move(request.on_stage)](exec::Stage stage) {
    shared->OnStage(stage);
    if (next) next(stage);
  };
  const std::shared_ptr<exec::Ticket> ticket = engine.Submit(
      std::move(request), [shared](exec::Answer answer) { shared->OnDone(std::move(answer)); });
  // No other request follows, so the engine need not prepare the slot for one.
  engine.Drain();
  return Waiter(shared, signals).Wait(*ticket);
}

}  // namespace polybox::cmd
