#include "exec/engine.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "exec/admission.h"
#include "exec/pool.h"
#include "exec/session.h"

namespace polybox::exec {
namespace {

using Clock = std::chrono::steady_clock;

/// How long a slot may have waited before it is looked at whether it is still needed.
constexpr auto kIdleCheck = std::chrono::seconds(5);

/// Of an installation, when the request does not say.
constexpr auto kInstallTime = std::chrono::minutes(2);

bool NeedsOptIn(const languages::Language& language) {
  return language.packages && language.packages->requests && language.packages->requests->opt_in;
}

/// Whether requirements that it does not take mean nothing to it: the contract of the execute
/// dialect says so of its own modes.
bool IgnoresRequirements(const languages::Language& language) {
  return language.mode || NeedsOptIn(language);
}

/// `wanted` are the languages for which an operator asks for more than ignoring them.
bool TakesRequirements(const languages::Language& language, const std::set<std::string>& wanted) {
  if (!language.packages || language.packages->requirement_form.empty()) return false;
  return !NeedsOptIn(language) || wanted.contains(language.id);
}

/// An admitted request, from its queue to its end.
struct Job {
  Request request;
  Executor::Done done;
  Clock::time_point submitted;
  /// While it runs; guarded by the engine's mutex.
  Session* session = nullptr;
  /// Asked for before it ran, but after it left the queue.
  bool cancelled = false;
  /// For whoever installs its packages.
  std::stop_source stop;
};

Refusal Refused(RefusalKind kind, std::string message) {
  return {.kind = kind, .message = std::move(message)};
}

/// Commands have the network that all guests have.
EngineOptions WithCommandsAsGuests(EngineOptions options) {
  if (options.commands) options.commands->egress = options.guest_egress != nullptr;
  return options;
}

class Engine final : public Executor, public std::enable_shared_from_this<Engine> {
 public:
  Engine(const Catalog& catalog, const JailHome& home, EngineOptions options)
      : catalog_(catalog),
        home_(home),
        options_(WithCommandsAsGuests(std::move(options))),
        admission_(options_.lanes),
        pool_(home,
              {.most = Places(),
               .memory = options_.idle_memory,
               .kept_key = KeptKey(),
               .kept = options_.kept,
               .on_shared = options_.on_shared},
              options_.guest_egress) {
    for (const Installation& known : catalog.available()) {
      installations_.emplace(known.language.id, WithWarmStart(WithEgress(known)));
    }
    // One more than can run: a slot is made ready for the next while its successor already runs.
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
    std::vector<Admission::Id> all;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [id, job] : jobs_) all.push_back(id);
    }
    for (const Admission::Id id : all) Cancel(id);
  }

  void Cancel(Admission::Id id);

 private:
  std::size_t Places() const {
    std::int64_t places = 0;
    for (const Lane& lane : options_.lanes) places += lane.concurrency;
    return static_cast<std::size_t>(places);
  }

  /// Slots with the same key show the same.
  static std::string KeyOf(const std::string& language, const std::string& packages = "",
                           const std::string& prepared = "") {
    return fmt::format("{}:{}:{}", language, packages, prepared);
  }

  /// Of the slots that are always there.
  std::string KeptKey() const {
    const Installation* kept = catalog_.Find(options_.kept_language);
    return KeyOf(options_.kept_language, kept == nullptr ? "" : kept->packages);
  }

  /// Makes the slots that are always there, before anyone asks.
  void MakeKept();
  void TakeJobs(const std::stop_token& stop);
  /// Ends those who wait too long, and slots that nobody needs.
  void KeepTime(const std::stop_token& stop);
  /// Forgets the job and answers. Never with the mutex held.
  void Finish(Admission::Id id, const std::shared_ptr<Job>& job, Answer answer, bool ran);
  void RunJob(Admission::Id id, const std::shared_ptr<Job>& job);
  /// The slot that a job was run in, if any, and whether it can take another.
  struct Place {
    std::unique_ptr<SlotPool::Lease> lease;
    bool broken = false;
  };
  using Work = std::function<Status(Session&, jail::Slot&, Report&)>;

  Answer Execute(Job& job, Place& place);
  /// For a language that installs none.
  std::string WhyNoPackages(const languages::Language& language) const;
  Answer ExecuteWithPackages(Job& job, const Installation& known, Place& place, Report report);
  Answer RunProgram(Job& job, const Installation& known, Place& place, Report report);
  /// The same with all that is to be shown.
  Answer RunInstalled(Job& job, const Installation& installation, Place& place, Report report);
  Answer RunCommand(Job& job, Place& place, Report report);
  Answer RunInSlot(Job& job, const std::string& key, const SlotPool::MakeSpec& spec, Place& place,
                   Report report, const Work& work);
  /// `known` with the network that the operator gives to guests.
  Installation WithEgress(Installation known) const {
    known.egress = options_.guest_egress != nullptr;
    return known;
  }
  /// `known` with the interpreter that its slots start ahead.
  Installation WithWarmStart(const Installation& known) const;

  const Catalog& catalog_;
  const JailHome& home_;
  const EngineOptions options_;
  mutable std::mutex mutex_;
  /// For those who work, and for the one who keeps the time.
  std::condition_variable_any changed_;
  std::condition_variable_any timer_;
  std::condition_variable idle_;
  Admission admission_;
  std::map<Admission::Id, std::shared_ptr<Job>> jobs_;
  Admission::Id next_id_ = 1;
  bool draining_ = false;
  /// Who would wait too long by the time that the one who keeps it looks again.
  bool newcomer_ = false;
  Clock::time_point next_look_;
  SlotPool pool_;
  /// By language id, for those without packages.
  std::map<std::string, Installation> installations_;
  std::vector<std::jthread> threads_;
};

class EngineTicket : public Ticket {
 public:
  EngineTicket(std::weak_ptr<Engine> engine, Admission::Id id)
      : engine_(std::move(engine)), id_(id) {}
  void Cancel() override {
    if (const auto engine = engine_.lock()) engine->Cancel(id_);
  }

 private:
  std::weak_ptr<Engine> engine_;
  Admission::Id id_;
};

/// Of a request that was refused at once.
class NoTicket : public Ticket {
  void Cancel() override {}
};

std::shared_ptr<Ticket> Engine::Submit(Request request, Done done) {
  auto job = std::make_shared<Job>();
  job->request = std::move(request);
  job->done = std::move(done);
  job->submitted = Clock::now();
  const std::size_t lane = job->request.lane;
  const Lane& rules = options_.lanes[lane];
  Duration patience = rules.queue_time;
  if (job->request.patience) patience = std::min(patience, *job->request.patience);
  Refusal refusal;
  std::unique_lock lock(mutex_);
  const Admission::Id id = next_id_++;
  if (draining_) {
    refusal = Refused(RefusalKind::kDraining, "the server is about to end");
  } else if (!admission_.Offer(id, lane, job->request.client, job->submitted + patience)) {
    const LaneLoad load = admission_.Load(lane);
    refusal = Refused(RefusalKind::kBusy, "all places are taken and the queue is full");
    refusal.load = load.running + load.queued + 1;
    refusal.retry_after = std::chrono::seconds(1);
  } else {
    jobs_.emplace(id, job);
    // Most end before the one who keeps the time would have looked anyway.
    const bool sooner = job->submitted + patience < next_look_;
    if (sooner) newcomer_ = true;
    lock.unlock();
    changed_.notify_one();
    if (sooner) timer_.notify_one();
    return std::make_shared<EngineTicket>(weak_from_this(), id);
  }
  lock.unlock();
  job->done(std::move(refusal));
  return std::make_shared<NoTicket>();
}

void Engine::Cancel(Admission::Id id) {
  std::unique_lock lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  const std::shared_ptr<Job> job = found->second;
  if (admission_.Remove(id)) {
    lock.unlock();
    return Finish(id, job, Refused(RefusalKind::kCancelled, "cancelled while waiting"), false);
  }
  job->cancelled = true;
  if (job->session != nullptr) job->session->Cancel();
  lock.unlock();
  job->stop.request_stop();
}

void Engine::Finish(Admission::Id id, const std::shared_ptr<Job>& job, Answer answer, bool ran) {
  bool waited_for = false;
  {
    const std::lock_guard lock(mutex_);
    jobs_.erase(id);
    if (ran) {
      admission_.Ended(job->request.lane);
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
  const auto found = installations_.find(options_.kept_language);
  // A slot of a language that starts cold is made fast enough when it is asked for.
  if (found == installations_.end()) return;
  if (found->second.warm.start.kind == jail::init::WarmKind::kNone) return;
  const auto spec = [&] { return SpecFor(found->second, home_.grade()); };
  std::vector<std::unique_ptr<SlotPool::Lease>> made;
  for (std::size_t i = 0; i < options_.kept; ++i) {
    Result<std::unique_ptr<SlotPool::Lease>> lease = pool_.Take(KeptKey(), spec);
    // Whoever asks for it will see why.
    if (!lease.ok()) break;
    made.push_back(std::move(lease).value());
  }
  for (std::unique_ptr<SlotPool::Lease>& lease : made) pool_.Give(std::move(lease));
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
  Place place;
  Answer answer = Execute(*job, place);
  Finish(id, job, std::move(answer), true);
  if (place.lease == nullptr) return;
  // Whoever asked has the answer: this is on our own time.
  place.broken ? pool_.Drop(std::move(place.lease)) : pool_.Give(std::move(place.lease));
}

Answer Engine::Execute(Job& job, Place& place) {
  Report report;
  report.queued = Clock::now() - job.submitted;
  report.isolation = home_.grade();
  if (!job.request.command.empty()) return RunCommand(job, place, std::move(report));
  const Installation* known = catalog_.Find(job.request.language);
  if (known == nullptr) {
    const Error* reason = catalog_.WhyNot(job.request.language);
    return Refused(RefusalKind::kUnavailable,
                   reason != nullptr ? fmt::format("{} does not run here: {}", job.request.language,
                                                   reason->message())
                                     : fmt::format("no language \"{}\"", job.request.language));
  }
  const bool asks = !job.request.requirements.empty();
  if (asks && TakesRequirements(known->language, options_.requirements_for)) {
    return ExecuteWithPackages(job, *known, place, std::move(report));
  }
  if (asks && !IgnoresRequirements(known->language)) {
    return Refused(RefusalKind::kInvalid, WhyNoPackages(known->language));
  }
  report.requirements_ignored = job.request.requirements;
  return RunProgram(job, installations_.at(known->language.id), place, std::move(report));
}

std::string Engine::WhyNoPackages(const languages::Language& language) const {
  std::vector<std::string> ready;
  std::vector<std::string> by_setting;
  for (const Installation& each : catalog_.available()) {
    const bool takes = TakesRequirements(each.language, options_.requirements_for);
    if (takes) ready.push_back(each.language.id);
    if (!takes && NeedsOptIn(each.language)) by_setting.push_back(each.language.id);
  }
  return fmt::format(
      "requirements: {} installs no packages on request (those that do here: {}{})", language.name,
      ready.empty() ? "none" : fmt::format("{}", fmt::join(ready, ", ")),
      by_setting.empty() ? ""
                         : fmt::format("; {} if the setting requirements-for names it",
                                       fmt::join(by_setting, ", ")));
}

Answer Engine::ExecuteWithPackages(Job& job, const Installation& known, Place& place,
                                   Report report) {
  if (options_.packages == nullptr) {
    report.install_failure = "polybox: the server has no directory in which packages can be kept";
    return report;
  }
  const auto begin = Clock::now();
  const Result<PackageSet> set = options_.packages->Get(
      known, job.request.requirements,
      {.time = job.request.install_time.value_or(kInstallTime), .cancel = job.stop.get_token()});
  report.install = Clock::now() - begin;
  if (job.stop.stop_requested()) {
    return Refused(RefusalKind::kCancelled, "cancelled while packages were installed");
  }
  if (!set.ok() && set.error().kind() == ErrorKind::kInvalid) {
    return Refused(RefusalKind::kInvalid, set.error().message());
  }
  if (!set.ok()) {
    report.install_failure = set.error().message();
    return report;
  }
  Installation with_set = WithEgress(known);
  with_set.packages = set->directory;
  with_set.requested = true;
  const bool has_both = RequestsOf(with_set) != nullptr && jail::HasNamespaces(home_.grade()) &&
                        with_set.packages != known.packages;
  if (has_both) with_set.preinstalled = known.packages;
  // Whoever asks chooses what is in the set, and what is in it must not run in a zygote.
  const bool inert = known.language.warm.kind != languages::WarmKind::kZygote;
  Answer answer =
      RunProgram(job, inert ? WithWarmStart(with_set) : with_set, place, std::move(report));
  // The slot will wait for the next who wants this set.
  if (place.lease != nullptr) place.lease->shown = set->lease;
  return answer;
}

Installation Engine::WithWarmStart(const Installation& known) const {
  Installation installation = known;
  const bool possible = options_.warm && jail::HasNamespaces(home_.grade());
  if (possible) installation.warm = WarmFor(installation, options_.preloads, options_.usual_run);
  return installation;
}

Answer Engine::RunProgram(Job& job, const Installation& known, Place& place, Report report) {
  const std::string ready = options_.preparer == nullptr ? "" : options_.preparer->Get(known);
  if (ready.empty()) return RunInstalled(job, known, place, std::move(report));
  Installation with_layer = known;
  with_layer.prepared = ready;
  return RunInstalled(job, with_layer, place, std::move(report));
}

Answer Engine::RunInstalled(Job& job, const Installation& installation, Place& place,
                            Report report) {
  const std::string key =
      KeyOf(installation.language.id, installation.packages, installation.prepared);
  return RunInSlot(
      job, key, [&] { return SpecFor(installation, home_.grade()); }, place, std::move(report),
      [&](Session& session, jail::Slot& slot, Report& filled) {
        return session.Run(slot, installation, filled);
      });
}

Answer Engine::RunCommand(Job& job, Place& place, Report report) {
  if (!options_.commands) return Refused(RefusalKind::kUnavailable, "there are no commands here");
  const jail::Grade grade = home_.grade();
  return RunInSlot(
      job, "command", [&] { return CommandSpec(*options_.commands, catalog_, grade); }, place,
      std::move(report),
      [&](Session& session, jail::Slot& slot, Report& filled) {
        return session.RunCommand(
            slot, CommandRun(*options_.commands, catalog_, grade, job.request.command),
            options_.command_space, filled);
      });
}

Answer Engine::RunInSlot(Job& job, const std::string& key, const SlotPool::MakeSpec& spec,
                         Place& place, Report report, const Work& work) {
  Result<std::unique_ptr<SlotPool::Lease>> taken = pool_.Take(key, spec);
  if (!taken.ok()) return Refused(RefusalKind::kFailed, taken.error().message());
  place.lease = std::move(taken).value();
  Session session(job.request, options_.compile_cache, place.lease->egress.get());
  {
    const std::lock_guard lock(mutex_);
    job.session = &session;
    if (job.cancelled) session.Cancel();
  }
  const Status status = work(session, *place.lease->slot, report);
  {
    const std::lock_guard lock(mutex_);
    job.session = nullptr;
  }
  // Whoever hears of the end can rely on it: no connection of the session is left. To end a proxy
  // takes a moment; one that had no visitors can wait until the answer is out.
  std::unique_ptr<net::EgressProxy>& egress = place.lease->egress;
  if (egress != nullptr && !egress->Close()) egress.reset();
  if (!status.ok() && status.error().kind() == ErrorKind::kInvalid) {
    return Refused(RefusalKind::kInvalid, status.error().message());
  }
  place.broken = !status.ok();
  if (session.cancelled()) return Refused(RefusalKind::kCancelled, "cancelled while running");
  if (!status.ok()) return Refused(RefusalKind::kFailed, status.error().message());
  return report;
}

}  // namespace

std::shared_ptr<Executor> MakeEngine(const Catalog& catalog, const JailHome& home,
                                     EngineOptions options) {
  return std::make_shared<Engine>(catalog, home, std::move(options));
}

}  // namespace polybox::exec
