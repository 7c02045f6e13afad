#include "exec/package_store.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "exec/digest.h"
#include "exec/requirement.h"

namespace polybox::exec {
namespace {

using Clock = std::chrono::steady_clock;

// How often another server's lock is looked at again.
constexpr auto kLookAgain = std::chrono::milliseconds(50);
/// The requirements with the preinstalled packages that they do not name: a set is shown instead of
/// those.
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

InstallOutcome Killed() {
  return {.failure = "signal: killed", .output = "", .unfinished = true};
}

}  // namespace

/// What one caller wants, and until when.
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
                           LayerStore::Open({std::move(options.directory), options.size}));
  return store;
}

Result<Provision> PackageStore::Provide(const Installation& known,
                                        const std::vector<std::string>& requirements,
                                        const ProvideOptions& options) {
  const auto& packages = known.language.packages;
  if (requirements.empty() || !packages || packages->requirement_form.empty()) return Provision();
  POLYBOX_ASSIGN_OR_RETURN(std::vector<std::string> set, WholeSet(*packages, requirements));
  Installation installation = known;
  installation.requested = true;
  const Duration time = options.time.value_or(packages->limits.wall_time);
  const languages::Toolchain& toolchain = installation.toolchain;
  const Wish wish = {Sha256(fmt::format("{}\n{}\n{}\n{}\n{}", packages->installer,
                                        toolchain.executable, toolchain.version,
                                        installer_.Identity(installation), fmt::join(set, "\n"))),
                     {installation, std::move(set), time, options.cancel},
                     Clock::now() + time};
  Provision provision;
  while (true) {
    POLYBOX_ASSIGN_OR_RETURN(provision.lease, layers_->Use(wish.key));
    if (!provision.lease.path().empty()) return provision;
    std::optional<Result<InstallOutcome>> outcome =
        wish.over() ? Result<InstallOutcome>(Killed()) : InstallOrWait(wish, provision.lease);
    if (!outcome) continue;
    POLYBOX_ASSIGN_OR_RETURN(const InstallOutcome ended,
                             (*std::move(outcome)).In("install packages"));
    provision.installed = true;
    if (!provision.lease.path().empty()) return provision;
    if (ended.failure.empty()) continue;
    provision.failure = fmt::format("{}: {}", ended.failure, ended.output);
    return provision;
  }
}

std::optional<Result<InstallOutcome>> PackageStore::InstallOrWait(const Wish& wish,
                                                                  PackageLease& lease) {
  std::unique_lock lock(mutex_);
  std::shared_ptr<Pending>& entry = pending_[wish.key];
  if (const std::shared_ptr<Pending> other = entry) {
    changed_.wait_until(lock, wish.job.cancel, wish.deadline, [&] { return other->done; });
    if (!other->outcome) return std::nullopt;
    const bool cut_short = other->outcome->ok() && (*other->outcome)->unfinished;
    return cut_short ? std::nullopt : other->outcome;
  }
  const auto mine = std::make_shared<Pending>();
  entry = mine;
  lock.unlock();
  std::optional<Result<InstallOutcome>> outcome = InstallAlone(wish, lease);
  lock.lock();
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
  Result<LayerStore::Made> made = layers_->Make(wish.key, install);
  if (!made.ok()) return std::move(made).error();
  if (made->busy) {
    // Another server is at it.
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

}  // namespace polybox::exec
