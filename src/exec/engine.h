// The engine: admits requests, runs them in slots, answers. It knows no JSON and no HTTP; doors
// translate. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "exec/catalog.h"
#include "exec/command.h"
#include "exec/compile_cache.h"
#include "exec/guest_egress.h"
#include "exec/jail_home.h"
#include "exec/preparer.h"
#include "exec/request.h"
#include "exec/space_watch.h"
#include "exec/warm.h"

namespace polybox::exec {

/// Admission rules of one front door.
struct Lane {
  std::string name;
  /// How many run at once.
  std::int64_t concurrency = 1;
  /// How many may wait.
  std::int64_t queue = 0;
  Duration queue_time = std::chrono::hours(24);
};

struct LaneLoad {
  std::int64_t running = 0;
  std::int64_t queued = 0;
};

/// A request that was admitted. Dropping it does nothing.
class Ticket {
 public:
  virtual ~Ticket() = default;
  /// Takes it out of the queue, or ends its run; `done` is called with kCancelled unless it was too
  /// late.
  virtual void Cancel() = 0;
};

/// What the doors see of the engine; tests of doors bring their own.
class Executor {
 public:
  using Done = std::function<void(Answer)>;

  virtual ~Executor() = default;
  /// `done` is called exactly once: at once when the request is refused, else on a thread of the
  /// engine. Never null.
  virtual std::shared_ptr<Ticket> Submit(Request request, Done done) = 0;
  virtual LaneLoad Load(std::size_t lane) const = 0;
  /// Refuses everything from here on; what runs goes on.
  virtual void Drain() = 0;
  /// Waits until nothing runs or waits any more; false when `time` was up first.
  virtual bool AwaitIdle(Duration time) = 0;
  /// Ends all that runs.
  virtual void CancelAll() = 0;
};

/// Where package sets come from.
struct PackageSet {
  /// On the host.
  std::string directory;
  /// The set stays for as long as this does.
  std::shared_ptr<void> lease;
};

struct PackageTerms {
  Duration time{};
  /// Nobody wants them any more.
  std::stop_token cancel = {};
};

/// Any thread, several at once.
class PackageSource {
 public:
  virtual ~PackageSource() = default;
  /// Installs them, or finds that they are. An error of kind kInvalid is a requirement that is
  /// refused; any other is the text that the request's answer carries.
  virtual Result<PackageSet> Get(const Installation& installation,
                                 const std::vector<std::string>& requirements,
                                 const PackageTerms& terms) = 0;
};

struct EngineOptions {
  std::vector<Lane> lanes;
  /// Absent: there are no commands.
  std::optional<CommandPlace> commands;
  /// Null where the kernel keeps their directory small enough. Must outlive the engine.
  SpaceWatch* command_space = nullptr;
  /// Idle slots are given up after this.
  Duration idle_time = std::chrono::minutes(1);
  /// Called every few seconds while nobody asks for anything, on a thread of the engine.
  std::function<void()> on_idle = {};
  /// Interpreters are started ahead of their programs.
  bool warm = true;
  /// What they load then, by language id, besides what the language files say.
  Preloads preloads = {};
  /// What they are made ready for.
  UsualRun usual_run = {};
  /// The id of the language of which `kept` slots are always there; "" for none.
  std::string kept_language = {};
  std::size_t kept = 0;
  /// What waiting slots may hold together.
  Bytes idle_memory = Bytes::MiB(512);
  /// Null: guests have no network. Must outlive the engine; only where there are namespaces.
  const GuestEgress* guest_egress = nullptr;
  /// The ids of languages whose requirements are installed though they are ignored by default.
  std::set<std::string> requirements_for = {};
  /// Null: there is no place for them, so that installing fails. Must outlive the engine.
  PackageSource* packages = nullptr;
  /// Null: compilers always run. Must outlive the engine.
  CompileCache* compile_cache = nullptr;
  /// Null: compile steps find nothing ready. Must outlive the engine.
  Preparer* preparer = nullptr;
  /// Called once for each thing that slots share with the host (Slot::shared); may be null.
  std::function<void(const std::string&)> on_shared = {};
};

/// `catalog` and `home` must outlive it. Its destructor ends all that runs.
std::shared_ptr<Executor> MakeEngine(const Catalog& catalog, const JailHome& home,
                                     EngineOptions options);

}  // namespace polybox::exec
