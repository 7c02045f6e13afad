#include "exec/engine.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

#include "exec/admission.h"
#include "exec/execution.h"
#include "exec/installations.h"
#include "exec/pool.h"

namespace polybox::exec {
namespace {

using Clock = std::chrono::steady_clock;

/// The longest time between two looks for idle slots that are no longer needed.
constexpr auto kIdleCheck = std::chrono::seconds(5);

/// An admitted request, from its queue to its answer. The engine's mutex is never held when a job
/// is destroyed: the destructor waits for `on_cancel`, which takes the mutex.
struct Job {
  /// `unqueue` is called once when the request is cancelled, on the thread that cancels it.
  Job(Request asked, Executor::Done answer, std::function<void()> unqueue)
      : request(std::move(asked)),
        done(std::move(answer)),
        on_cancel(stop.get_token(), std::move(unqueue)) {}

  Request request;
  Executor::Done done;
  Clock::time_point submitted = Clock::now();
  /// The request's only state of cancellation. The ticket requests the stop. The token goes to
  /// every step of the execution, down to the process that the step waits for.
  std::stop_source stop;
  std::stop_callback<std::function<void()>> on_cancel;
  /// Held while the client is told of kQueued, its first stage. Never held with the engine's mutex.
  std::mutex telling;
  /// Whether the request left the queue; guarded by `telling`.
  bool left_queue = false;

  void TellQueued() {
    const std::lock_guard lock(telling);
    if (!left_queue) Tell(request, Stage::kQueued);
  }
  void LeaveQueue() {
    const std::lock_guard lock(telling);
    left_queue = true;
  }
};

Refusal Refused(RefusalKind kind, std::string message) {
  return {.kind = kind, .message = std::move(message)};
}

/// Commands have the same network as guests.
EngineOptions WithCommandsAsGuests(EngineOptions options) {
  if (options.commands) options.commands->egress = options.guest_egress != nullptr;
  return options;
}

class Engine final : public Executor, public std::enable_shared_from_this<Engine> {
 public:
  Engine(const Catalog& catalog, const launch::JailHome& home, EngineOptions options)
      : catalog_(catalog),
        home_(home),
        options_(WithCommandsAsGuests(std::move(options))),
        installations_(catalog, options_, home.grade()),
        admission_(options_.lanes),
        pool_(home,
              {.most = Places(),
               .memory = options_.idle_memory,
               .kept_key = KeptKey(),
               .kept = options_.kept,
               .await_warm = options_.await_warm,
               .on_shared = options_.on_shared},
              options_.guest_egress) {
    // One thread more than requests can run: it resets a slot while the next request runs.
    for (std::size_t i = 0; i <= Places(); ++i) {
      threads_.emplace_back([this](const std::stop_token& stop) { TakeJobs(stop); });
    }
    threads_.emplace_back([this](const std::stop_token& stop) { KeepTime(stop); });
  }

  ~Engine() override {
    Drain();
    CancelAll();
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();
  }

  std::shared_ptr<Ticket> Submit(Request request, Done done) override;

  LaneLoad Load(std::size_t lane) const override {
    const std::lock_guard lock(mutex_);
    return admission_.Load(lane);
  }

  void Drain() override {
    const std::lock_guard lock(mutex_);
    draining_ = true;
  }

  bool AwaitIdle(Duration time) override {
    std::unique_lock lock(mutex_);
    return idle_.wait_for(lock, time, [&] { return jobs_.empty(); });
  }

  void CancelAll() override {
    std::vector<std::shared_ptr<Job>> all;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [id, job] : jobs_) all.push_back(job);
    }
    for (const std::shared_ptr<Job>& job : all) job->stop.request_stop();
  }

 private:
  /// Returns whether no request will come any more. A slot then needs no reset.
  bool IsEnding() const {
    const std::lock_guard lock(mutex_);
    return draining_ && jobs_.empty();
  }

  std::size_t Places() const {
    std::int64_t places = 0;
    for (const Lane& lane : options_.lanes) places += lane.concurrency;
    return static_cast<std::size_t>(places);
  }

  /// The key of the slots that exist at all times (EngineOptions::kept); "" for none.
  std::string KeptKey() const {
    const launch::Installation* kept = installations_.Find(options_.kept_language);
    return kept == nullptr ? "" : Installations::KeyOf(*kept);
  }

  /// Makes the slots that exist at all times, before the first request.
  void MakeKept();
  void TakeJobs(const std::stop_token& stop);
  /// The timer thread: refuses requests that waited too long, and ends idle slots.
  void KeepTime(const std::stop_token& stop);
  /// Answers a cancelled request if it waits in the queue. If it runs already, its execution sees
  /// the token.
  void Unqueue(Admission::Id id);
  /// Removes the job and calls `done`, which may call the engine: never with the mutex held.
  void Finish(Admission::Id id, const std::shared_ptr<Job>& job, Answer answer, bool ran);
  void RunJob(Admission::Id id, const std::shared_ptr<Job>& job);

  const Catalog& catalog_;
  const launch::JailHome& home_;
  const EngineOptions options_;
  const Installations installations_;
  mutable std::mutex mutex_;
  /// `mutex_` guards the members from here to `next_look_`. It is not held while a stop is
  /// requested. `changed_` wakes the worker threads, `timer_` the timer thread, `idle_`
  /// AwaitIdle().
  std::condition_variable_any changed_;
  std::condition_variable_any timer_;
  std::condition_variable idle_;
  Admission admission_;
  std::map<Admission::Id, std::shared_ptr<Job>> jobs_;
  bool draining_ = false;
  /// Set when a new request expires before the timer thread's next wake-up.
  bool newcomer_ = false;
  Clock::time_point next_look_;
  std::atomic<Admission::Id> next_id_ = 1;
  SlotPool pool_;
  const Facilities facilities_ = {catalog_, home_, options_, installations_, pool_};
  std::vector<std::jthread> threads_;
};

class EngineTicket : public Ticket {
 public:
  EngineTicket(std::weak_ptr<Executor> engine, std::stop_source stop)
      : engine_(std::move(engine)), stop_(std::move(stop)) {}
  void Cancel() override {
    // Job::on_cancel uses the engine, which must therefore exist meanwhile. An engine that is being
    // destroyed has cancelled all requests itself.
    if (const auto engine = engine_.lock()) stop_.request_stop();
  }

 private:
  std::weak_ptr<Executor> engine_;
  std::stop_source stop_;
};

/// The ticket of a request that was refused at once.
class NoTicket : public Ticket {
  void Cancel() override {}
};

std::shared_ptr<Ticket> Engine::Submit(Request request, Done done) {
  const Admission::Id id = next_id_++;
  const auto job =
      std::make_shared<Job>(std::move(request), std::move(done), [this, id] { Unqueue(id); });
  const std::size_t lane = job->request.lane;
  const Lane& rules = options_.lanes[lane];
  Duration patience = rules.queue_time;
  if (job->request.patience) patience = std::min(patience, *job->request.patience);
  Refusal refusal;
  std::unique_lock lock(mutex_);
  if (draining_) {
    refusal = Refused(RefusalKind::kDraining, "the server is about to end");
  } else if (!admission_.Offer(id, lane, job->request.client, job->submitted + patience)) {
    const LaneLoad load = admission_.Load(lane);
    refusal = Refused(RefusalKind::kBusy, "all places are taken and the queue is full");
    refusal.load = load.running + load.queued + 1;
    refusal.retry_after = std::chrono::seconds(1);
  } else {
    jobs_.emplace(id, job);
    // Most requests end before the timer thread's next wake-up; those do not wake it.
    const bool sooner = job->submitted + patience < next_look_;
    if (sooner) newcomer_ = true;
    const bool waits = admission_.Load(lane).running >= rules.concurrency;
    lock.unlock();
    changed_.notify_one();
    if (sooner) timer_.notify_one();
    if (waits) job->TellQueued();
    return std::make_shared<EngineTicket>(weak_from_this(), job->stop);
  }
  lock.unlock();
  job->done(std::move(refusal));
  return std::make_shared<NoTicket>();
}

void Engine::Unqueue(Admission::Id id) {
  std::shared_ptr<Job> job;
  {
    const std::lock_guard lock(mutex_);
    if (!admission_.Remove(id)) return;
    job = jobs_.at(id);
  }
  Finish(id, job, Refused(RefusalKind::kCancelled, "cancelled while waiting"), false);
}

void Engine::Finish(Admission::Id id, const std::shared_ptr<Job>& job, Answer answer, bool ran) {
  bool waited_for = false;
  job->LeaveQueue();
  {
    const std::lock_guard lock(mutex_);
    jobs_.erase(id);
    if (ran) {
      admission_.FreePlace(job->request.lane);
      waited_for = admission_.Load(job->request.lane).queued > 0;
    }
    if (jobs_.empty()) idle_.notify_all();
  }
  if (waited_for) changed_.notify_one();
  job->done(std::move(answer));
}

void Engine::TakeJobs(const std::stop_token& stop) {
  while (true) {
    std::optional<Admission::Id> id;
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [&] { return (id = admission_.Next()).has_value(); });
      if (!id) return;
      job = jobs_.at(*id);
    }
    RunJob(*id, job);
  }
}

void Engine::MakeKept() {
  const launch::Installation* kept = installations_.Find(options_.kept_language);
  // A slot of a language without a warm start is made fast enough on request.
  if (kept == nullptr || kept->warm.start.kind == jail::WarmKind::kNone) return;
  const auto spec = [&] { return launch::SpecFor(*kept, home_.grade()); };
  std::vector<std::unique_ptr<SlotPool::Loan>> made;
  for (std::size_t i = 0; i < options_.kept; ++i) {
    Result<std::unique_ptr<SlotPool::Loan>> loan = pool_.Take(KeptKey(), spec);
    // The first request for such a slot gets this error.
    if (!loan.ok()) break;
    made.push_back(std::move(loan).value());
  }
  for (std::unique_ptr<SlotPool::Loan>& loan : made) pool_.Give(std::move(loan));
}

void Engine::KeepTime(const std::stop_token& stop) {
  MakeKept();
  while (!stop.stop_requested()) {
    std::vector<std::pair<Admission::Id, std::shared_ptr<Job>>> expired;
    bool idle = false;
    {
      std::unique_lock lock(mutex_);
      const auto check = Clock::now() + kIdleCheck;
      next_look_ = std::min(admission_.NextExpiry().value_or(check), check);
      timer_.wait_until(lock, stop, next_look_, [&] { return std::exchange(newcomer_, false); });
      for (const Admission::Id id : admission_.Expired(Clock::now())) {
        expired.emplace_back(id, jobs_.at(id));
      }
      idle = jobs_.empty();
    }
    for (const auto& [id, job] : expired) {
      Refusal refusal = Refused(RefusalKind::kQueueTimeout, "waited too long for a free place");
      refusal.retry_after = std::chrono::seconds(1);
      Finish(id, job, std::move(refusal), false);
    }
    pool_.DropIdle(options_.idle_time);
    if (idle && options_.on_idle) options_.on_idle();
  }
}

void Engine::RunJob(Admission::Id id, const std::shared_ptr<Job>& job) {
  job->LeaveQueue();
  Execution execution(facilities_, job->request, job->stop.get_token());
  Answer answer = execution.Run(Clock::now() - job->submitted);
  Finish(id, job, std::move(answer), true);
  // The client has the answer already, so the reset of the slot does not delay it.
  IsEnding() ? execution.EndSlot() : execution.ReturnSlot();
}

}  // namespace

std::shared_ptr<Executor> MakeEngine(const Catalog& catalog, const launch::JailHome& home,
                                     EngineOptions options) {
  return std::make_shared<Engine>(catalog, home, std::move(options));
}

}  // namespace polybox::exec
