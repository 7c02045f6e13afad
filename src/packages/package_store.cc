#include "packages/package_store.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "languages/preinstall.h"
#include "packages/requirement.h"
#include "store/digest.h"

namespace polybox::packages {
namespace {

using Clock = std::chrono::steady_clock;

// The time between two attempts to get a lock that another server holds.
constexpr auto kLookAgain = std::chrono::milliseconds(50);
/// Returns the requirements and those preinstalled packages that they do not name. A guest sees the
/// set instead of the preinstalled packages.
Result<std::vector<std::string>> WholeSet(const languages::Packages& packages,
                                          const std::vector<std::string>& requirements) {
  POLYBOX_ASSIGN_OR_RETURN(std::vector<Requirement> all,
                           ParseRequirements(packages.requirement_form, requirements));
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<Requirement> always,
                           ParseRequirements(packages.requirement_form, packages.preinstalled));
  const std::vector<Requirement> asked = all;
  for (const Requirement& one : always) {
    if (std::ranges::find(asked, one.name, &Requirement::name) == asked.end()) all.push_back(one);
  }
  std::ranges::sort(all);
  std::vector<std::string> texts;
  for (const Requirement& one : all) texts.push_back(one.text);
  return texts;
}

InstallOutcome Killed(bool timed_out) {
  return {.failure = "signal: killed", .output = "", .unfinished = true, .timed_out = timed_out};
}

}  // namespace

/// What one caller asks for, and its deadline.
struct PackageStore::Wish {
  std::string key;
  InstallJob job;
  Clock::time_point deadline;

  Duration left() const { return deadline - Clock::now(); }
  bool over() const { return left().count() <= 0 || job.cancel.stop_requested(); }
};

PackageStore::PackageStore(Installer& installer, const log::Logger& log)
    : installer_(installer), log_(log) {}

Result<std::unique_ptr<PackageStore>> PackageStore::Open(PackageStoreOptions options,
                                                         Installer& installer,
                                                         const log::Logger& log) {
  std::unique_ptr<PackageStore> store(new PackageStore(installer, log));
  POLYBOX_ASSIGN_OR_RETURN(store->layers_,
                           store::LayerStore::Open({std::move(options.directory), options.size}));
  return store;
}

Result<Provision> PackageStore::Provide(const launch::Installation& known,
                                        const std::vector<std::string>& requirements,
                                        const ProvideOptions& options) {
  const auto& packages = known.language.packages;
  if (requirements.empty() || !packages || packages->requirement_form.empty()) return Provision();
  POLYBOX_ASSIGN_OR_RETURN(std::vector<std::string> set, WholeSet(*packages, requirements));
  launch::Installation installation = known;
  installation.requested = true;
  const Duration time = options.time.value_or(packages->limits.wall_time);
  const languages::Toolchain& toolchain = installation.toolchain;
  const Wish wish = {
      store::Sha256(fmt::format("{}\n{}\n{}\n{}\n{}", packages->installer, toolchain.executable,
                                toolchain.version, installer_.Identity(installation),
                                fmt::join(set, "\n"))),
      {installation, std::move(set), time, options.cancel},
      Clock::now() + time};
  Provision provision;
  bool told = false;
  while (true) {
    // The lease is taken before the set is used, so that no other server can remove it.
    POLYBOX_ASSIGN_OR_RETURN(provision.lease, layers_->Use(wish.key));
    if (!provision.lease.path().empty()) return provision;
    if (options.on_install && !told) options.on_install();
    told = true;
    std::optional<Result<InstallOutcome>> outcome =
        wish.over() ? Result<InstallOutcome>(Killed(!wish.job.cancel.stop_requested()))
                    : InstallOrWait(wish, provision.lease);
    if (!outcome) continue;
    POLYBOX_ASSIGN_OR_RETURN(const InstallOutcome ended,
                             (*std::move(outcome)).In("install packages"));
    provision.installed = true;
    if (!provision.lease.path().empty()) return provision;
    if (ended.failure.empty()) continue;
    provision.failure = fmt::format("{}: {}", ended.failure, ended.output);
    if (ended.timed_out)
      *provision.failure += "\n" + languages::ExplainLate(time, options.time_name);
    return provision;
  }
}

std::optional<Result<InstallOutcome>> PackageStore::InstallOrWait(const Wish& wish,
                                                                  PackageLease& lease) {
  std::unique_lock lock(mutex_);
  std::shared_ptr<Pending>& entry = pending_[wish.key];
  // Another thread of this process installs the set. The shared pointer keeps its result alive
  // after that thread has removed it from `pending_`.
  if (const std::shared_ptr<Pending> other = entry) {
    changed_.wait_until(lock, wish.job.cancel, wish.deadline, [&] { return other->done; });
    if (!other->outcome) return std::nullopt;
    // An installation that was cut short says nothing about the packages. This thread then tries
    // with its own time.
    const bool cut_short = other->outcome->ok() && (*other->outcome)->unfinished;
    return cut_short ? std::nullopt : other->outcome;
  }
  const auto mine = std::make_shared<Pending>();
  entry = mine;
  lock.unlock();
  std::optional<Result<InstallOutcome>> outcome = InstallAlone(wish, lease);
  lock.lock();
  // All three changes happen under the mutex, so that no waiting thread sees a part of them.
  mine->done = true;
  mine->outcome = outcome;
  pending_.erase(wish.key);
  changed_.notify_all();
  return outcome;
}

std::optional<Result<InstallOutcome>> PackageStore::InstallAlone(const Wish& wish,
                                                                 PackageLease& lease) {
  std::optional<InstallOutcome> outcome;
  const auto install = [&](const std::string& directory) -> Result<bool> {
    InstallJob job = wish.job;
    job.time = wish.left();
    POLYBOX_ASSIGN_OR_RETURN(outcome, installer_.Install(job, directory));
    return outcome->failure.empty();
  };
  Result<store::LayerStore::Made> made = layers_->Make(wish.key, install);
  if (!made.ok()) return std::move(made).error();
  if (made->busy) {
    // Another server holds the lock and installs the set, so this thread looks again later.
    std::this_thread::sleep_for(std::min<Duration>(kLookAgain, wish.left()));
  }
  if (!outcome) return std::nullopt;
  if (made->fresh) {
    log_.Info("installed a package set", {{"language", wish.job.installation.language.id},
                                          {"packages", wish.job.requirements.size()},
                                          {"bytes", made->size.count()}});
    lease = std::move(made->lease);
  }
  return *std::move(outcome);
}

}  // namespace polybox::packages
