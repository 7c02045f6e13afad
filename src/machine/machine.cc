#include "machine/machine.h"

#include <algorithm>
#include <condition_variable>
#include <future>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/scope_exit.h"
#include "machine/find_identity.h"
#include "machine/user_home.h"

namespace polybox::machine {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Machine::Machine(const workspace::Workspace& workspace, MachineOptions options)
    : workspace_(workspace), options_(std::move(options)) {}

Machine::~Machine() {
  // Before `keeper_` ends.
  EndLease();
}

void Machine::EndLease() {
  protection_.reset();
  lease_.reset();
  if (network_) network_->Stop();
}

Status Machine::PrepareState() {
  const std::string& cache = options_.settings.cache_dir;
  if (cache.empty()) return {};
  Result<State> state = State::Open(workspace_, cache);
  if (!state.ok()) {
    // Everything else works without a home that lasts.
    if (state.error().kind() == ErrorKind::kInvalid) return state.error();
    notes_.push_back(fmt::format("the home directory of commands does not outlive the jail: {}",
                                 state.error().message()));
    return {};
  }
  state_ = std::move(state).value();
  const bool mapped = parts_.identity == Identity::kMapped;
  if (const std::string why = mapped ? WhyUnmapped(state_->home()) : ""; !why.empty()) {
    notes_.push_back(fmt::format(
        "the home directory of commands does not outlive the jail: {} cannot be shown, because {}; "
        "name a directory of another file system with --cache-dir",
        state_->home(), why));
    return {};
  }
  parts_.home = state_->home();
  return {};
}

Status Machine::Prepare(const launch::JailHome& home) {
  const MachineSettings& settings = options_.settings;
  parts_ = {.grade = home.grade(),
            .workspace = workspace_.path(),
            .owner = workspace_.owner(),
            .limits = settings.limits};
  notes_.clear();
  POLYBOX_ASSIGN_OR_RETURN(parts_.identity, FindIdentity(workspace_, home, settings.as_root));
  POLYBOX_RETURN_IF_ERROR(PrepareState());
  std::vector<std::string> closed = settings.closed;
  closed.push_back(workspace_.path());
  if (!settings.cache_dir.empty()) closed.push_back(settings.cache_dir);
  const ClosedPaths paths(std::move(closed));
  const HostTools tools = settings.tools ? settings.tools() : HostTools();
  parts_.shown = FindShownPaths(settings.path, tools.toolchains, paths);
  parts_.venv_root = VenvRoot(workspace_, paths);
  parts_.read_only = tools.read_only;
  PrepareCaches(tools.caches);
  NoteGrade();
  return {};
}

void Machine::PrepareCaches(const std::vector<languages::PackageCache>& caches) {
  if (!state_) return;
  const std::string user_home = UserHome(workspace_.owner());
  const Status written = state_->WriteGitConfig(GitConfigOf(user_home));
  if (written.ok()) parts_.git_config = state_->git_config();
  // Without a home that lasts, there is no place for what commands change.
  if (!jail::HasNamespaces(parts_.grade) || parts_.home.empty()) return;
  for (const languages::PackageCache& cache : caches) {
    ShownCache shown = {.source = FindCache(cache, user_home),
                        .target = parts_.home + "/" + cache.home};
    if (shown.source.empty()) continue;
    Status made = state_->MakeInHome(cache.home);
    const Result<std::string> changes =
        made.ok() ? state_->ChangesOf(cache.name) : Result<std::string>(made.error());
    if (!changes.ok()) {
      notes_.push_back(fmt::format("the package cache {} cannot be used: {}", shown.source,
                                   changes.error().message()));
      continue;
    }
    shown.changes = *changes;
    const Ownership ownership = OwnershipOf(shown.source, parts_.identity, workspace_.owner());
    shown.owner = ownership.mapped;
    if (!ownership.foreign.empty()) {
      notes_.push_back(
          fmt::format("commands cannot change what is in the package cache {}, because {}",
                      shown.source, ownership.foreign));
    }
    parts_.caches.push_back(std::move(shown));
  }
}

void Machine::NoteGrade() {
  if (jail::HasNamespaces(parts_.grade)) return;
  notes_.push_back(fmt::format(
      "isolation grade {}: commands have the host's network ports and process numbers, no /tmp of "
      "their own (TMPDIR names a directory for them), {}and the user's package caches are not "
      "shown",
      jail::GradeName(parts_.grade), parts_.grade == jail::Grade::kLandlock ? "no /proc, " : ""));
}

Status Machine::KeepLease(const launch::JailHome& home, jail::Spec spec) {
  std::promise<Status> made;
  std::future<Status> future = made.get_future();
  keeper_ = std::jthread([&home, this, spec = std::move(spec),
                          made = std::move(made)](const std::stop_token& stop) mutable {
    Result<std::unique_ptr<jail::Lease>> lease =
        home.MakeLease(spec, options_.number, LeaseLimits(parts_.limits));
    const Status answer = lease.ok() ? Status() : Status(lease.error());
    // The caller holds the lock until it has the answer.
    if (lease.ok()) lease_ = std::move(lease).value();
    made.set_value(answer);
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait(lock, stop, [] { return false; });
  });
  return future.get();
}

Status Machine::ServeNetwork() {
  if (!network_) return {};
  // The network runs a process that writes files into the home directory. Commands of an earlier
  // lease may have left links there.
  const ScopeExit started([this] {
    if (protection_) protection_->AfterStart();
  });
  if (protection_) POLYBOX_RETURN_IF_ERROR(protection_->BeforeStart());
  const std::string& home = parts_.home;
  return network_->Serve(*lease_, home.empty() ? lease_->places().work : home);
}

void Machine::ShowNetwork(const launch::JailHome& home, jail::Spec& spec) {
  Network* const network = options_.settings.network;
  if (network == nullptr) return;
  if (!network_) {
    network_ = std::make_shared<MachineNetwork>(
        *network,
        MachineNetwork::Options{
            .workspace = &workspace_, .home = &home, .trial_slot = options_.trial_number});
  }
  network_->Show(spec, parts_.identity);
}

void Machine::NoteSharedCaches() {
  for (const std::string& shared : lease_->shared()) {
    for (const ShownCache& cache : parts_.caches) {
      if (!shared.starts_with(cache.target + ": ")) continue;
      notes_.push_back(fmt::format("commands cannot add to the package cache {} ({})", cache.source,
                                   shared.substr(cache.target.size() + 2)));
    }
  }
}

bool Machine::HasLease() {
  if (!lease_ || !lease_->Alive()) return false;
  if (!lease_->IsOutOfMemory()) return true;
  lease_violations_.push_back(
      {.kind = Violation::Kind::kMemory,
       .source = Violation::Source::kObserved,
       .subject = "",
       .what = "what earlier commands left in /tmp and in shared memory left no memory for others, "
               "so the jail of the workspace was made anew; its /tmp is empty",
       .fix = "Remove large files from /tmp; the setting workspace-memory raises the limit"});
  return false;
}

Status Machine::MakeLease() {
  if (HasLease()) return {};
  EndLease();
  POLYBOX_ASSIGN_OR_RETURN(const launch::JailHome* home, options_.home());
  POLYBOX_RETURN_IF_ERROR(Prepare(*home));
  jail::Spec spec = SpecOf(jail::HostSpec(), parts_);
  ShowRepository(spec);
  ShowNetwork(*home, spec);
  POLYBOX_RETURN_IF_ERROR(KeepLease(*home, std::move(spec)));
  NoteSharedCaches();
  Status ready = Protect(home->grade());
  if (ready.ok()) ready = ServeNetwork();
  if (!ready.ok()) EndLease();
  return ready;
}

jail::ProcessRequest Machine::RequestFor(const Command& command) const {
  std::map<std::string, std::string> env = EnvironmentOf(parts_, lease_->places());
  if (network_) network_->AddVariables(env);
  for (const auto& [name, value] : command.env) env[name] = value;
  jail::ProcessRequest request;
  request.argv = command.argv;
  for (const auto& [name, value] : env) request.env.push_back(name + "=" + value);
  request.directory = command.directory.empty() ? workspace_.path() : command.directory;
  request.limits = CommandLimits(parts_.limits);
  request.limits.wall_time = command.wall_time;
  request.terminal = command.terminal;
  request.stdin_fd = command.stdin_fd;
  request.stdout_fd = command.stdout_fd;
  request.stderr_fd = command.stderr_fd;
  return request;
}

void Machine::ShowRepository(jail::Spec& spec) {
  repository_.reset();
  Result<std::optional<workspace::LinkedWorktree>> found =
      workspace::FindLinkedWorktree(workspace_);
  if (!found.ok()) {
    notes_.push_back(found.error().message());
    return;
  }
  repository_ = std::move(found).value();
  const auto own = std::ranges::find(spec.trees, workspace_.path(), &jail::Tree::source);
  if (!repository_ || own == spec.trees.end()) return;
  // The repository belongs to the owner of the workspace, so it is shown in the same way.
  jail::Tree tree = *own;
  tree.source = tree.target = repository_->repository;
  spec.trees.push_back(std::move(tree));
}

Status Machine::Protect(jail::Grade grade) {
  if (workspace_.protection().rows().empty()) return {};
  if (!jail::HasNamespaces(grade)) {
    notes_.emplace_back(
        "protected files cannot be read-only in this isolation grade: what a command has changed "
        "is found after the command and put back");
  }
  std::vector<GuardedTree> trees = {{workspace_.root().directory, workspace_.path(), ""}};
  if (repository_) {
    trees.push_back({repository_->directory.get(), repository_->repository, ".git"});
  }
  POLYBOX_ASSIGN_OR_RETURN(
      protection_,
      Protection::Make(lease_,
                       {.trees = std::move(trees),
                        .repository = std::exchange(repository_, std::nullopt),
                        .workspace = workspace_,
                        .guard = jail::HasNamespaces(grade) ? Guard::kSeals : Guard::kCopies}));
  return {};
}

Result<jail::Process> Machine::Start(const Command& command) {
  const std::lock_guard lock(mutex_);
  last_used_ = Clock::now();
  POLYBOX_RETURN_IF_ERROR(MakeLease().In("make the jail of the workspace"));
  if (!protection_) return lease_->Start(RequestFor(command));
  const ScopeExit started([this] { protection_->AfterStart(); });
  POLYBOX_RETURN_IF_ERROR(protection_->BeforeStart().In("protect files of the workspace"));
  return lease_->Start(RequestFor(command));
}

std::optional<Clock::time_point> Machine::EndIfIdle() {
  const std::lock_guard lock(mutex_);
  if (!lease_ || options_.settings.idle_time <= Duration::zero()) return {};
  if (lease_->IsBusy()) last_used_ = Clock::now();
  const Clock::time_point end = last_used_ + options_.settings.idle_time;
  if (Clock::now() < end) return end;
  EndLease();
  return {};
}

std::vector<Violation> Machine::TakeViolations() {
  std::shared_ptr<Protection> protection;
  std::shared_ptr<MachineNetwork> network;
  std::vector<Violation> violations;
  {
    const std::lock_guard lock(mutex_);
    protection = protection_;
    network = network_;
    violations = std::exchange(lease_violations_, {});
  }
  if (protection) std::ranges::move(protection->Take(), std::back_inserter(violations));
  if (!network) return violations;
  for (Violation& each : network->TakeViolations()) violations.push_back(std::move(each));
  return violations;
}

std::vector<std::string> Machine::Notes() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> notes = notes_;
  if (!network_) return notes;
  for (std::string& note : network_->Notes()) notes.push_back(std::move(note));
  return notes;
}

}  // namespace polybox::machine
