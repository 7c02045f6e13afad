// The engine admits requests, runs each in a slot and returns an answer. The doors (the HTTP APIs
// and the command line) call it and translate: the engine knows neither JSON nor HTTP. Any thread
// may call it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "compile/compile_cache.h"
#include "compile/preparer.h"
#include "exec/catalog.h"
#include "exec/command.h"
#include "exec/guest_egress.h"
#include "exec/request.h"
#include "exec/space_watch.h"
#include "exec/warm.h"
#include "launch/jail_home.h"
#include "packages/package_source.h"

namespace polybox::exec {

/// Admission rules of one door (a public HTTP API, or the command line).
struct Lane {
  std::string name;
  /// The number of requests that may run at once.
  std::int64_t concurrency = 1;
  /// The number of requests that may wait for a free place.
  std::int64_t queue = 0;
  /// The longest time that a request may wait in the queue before it is refused with kQueueTimeout.
  Duration queue_time = std::chrono::hours(24);
};

/// The number of requests of one lane at this moment.
struct LaneLoad {
  std::int64_t running = 0;
  std::int64_t queued = 0;
};

/// The caller's handle of a submitted request. Destroying the handle does not cancel the request.
class Ticket {
 public:
  virtual ~Ticket() = default;
  /// Removes the request from the queue, or kills its program if it runs. `done` is then called
  /// with kCancelled, unless the request has ended already. Any thread.
  virtual void Cancel() = 0;
};

/// The engine's interface for the doors. Tests of the doors use an implementation of their own.
class Executor {
 public:
  /// Receives the answer of a request. The thread that calls it continues only when it returns.
  using Done = std::function<void(Answer)>;

  virtual ~Executor() = default;
  /// Queues the request or refuses it. `done` is called exactly once. For a refused request, the
  /// calling thread calls it before this function returns. For a request that is cancelled in the
  /// queue, the thread that calls Ticket::Cancel() does. Otherwise a thread of the engine calls it.
  /// The returned ticket is never null.
  virtual std::shared_ptr<Ticket> Submit(Request request, Done done) = 0;
  /// Returns the load of the lane with this index in EngineOptions::lanes.
  virtual LaneLoad Load(std::size_t lane) const = 0;
  /// Refuses every request that is submitted from now on (kDraining). Admitted requests continue.
  virtual void Drain() = 0;
  /// Waits until no request runs or waits. Returns false if `time` passes first.
  virtual bool AwaitIdle(Duration time) = 0;
  /// Cancels every request, both waiting and running, as Ticket::Cancel() does.
  virtual void CancelAll() = 0;
};

/// Settings of an engine; they do not change while it lives.
struct EngineOptions {
  std::vector<Lane> lanes;
  /// The directory in which commands run. Absent: they are refused.
  std::optional<CommandDirectory> commands;
  /// Enforces the quota of that directory. Null where the kernel limits the directory's size. Must
  /// outlive the engine.
  SpaceWatch* command_space = nullptr;
  /// A slot that has waited this long without a session is ended.
  Duration idle_time = std::chrono::minutes(1);
  /// Called every few seconds while no request runs or waits, on a thread of the engine.
  std::function<void()> on_idle = {};
  /// Whether slots start interpreters before a program arrives (a warm start).
  bool warm = true;
  /// Whether the first request of a new slot waits until the slot's interpreter has started.
  bool await_warm = false;
  /// Modules that those interpreters load, by language id, in addition to the modules that the
  /// language file names.
  Preloads preloads = {};
  /// Properties that most runs have. The interpreters are started for such a run.
  UsualRun usual_run = {};
  /// The id of the language of which at least `kept` slots exist at all times; "" for none.
  std::string kept_language = {};
  std::size_t kept = 0;
  /// The memory that the processes of all idle slots may hold together.
  Bytes idle_memory = Bytes::MiB(512);
  /// Provides the network of guests. Null: guests have no network. Requires a grade with
  /// namespaces. Must outlive the engine.
  const GuestEgress* guest_egress = nullptr;
  /// The ids of languages whose requirements are installed although the language file says to
  /// ignore them by default (`opt_in`).
  std::set<std::string> requirements_for = {};
  /// Installs the requirements of requests. Null: the server has no directory for packages, so
  /// every installation fails. Must outlive the engine.
  packages::PackageSource* packages = nullptr;
  /// Keeps the results of compile steps. Null: the compiler runs for each request. Must outlive the
  /// engine.
  compile::CompileCache* compile_cache = nullptr;
  /// Prepares files for compile steps, such as precompiled headers. Null: compile steps run without
  /// them. Must outlive the engine.
  compile::Preparer* preparer = nullptr;
  /// Called once for each resource that slots share with the host (Slot::shared). May be null.
  std::function<void(const std::string&)> on_shared = {};
};

/// Makes an engine and starts its threads. `catalog` and `home` must outlive the engine. Its
/// destructor cancels all requests and waits for its threads.
std::shared_ptr<Executor> MakeEngine(const Catalog& catalog, const launch::JailHome& home,
                                     EngineOptions options);

}  // namespace polybox::exec
