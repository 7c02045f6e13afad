#include "exec/package_store.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/scope_exit.h"
#include "exec/digest.h"
#include "exec/requirement.h"

namespace polybox::exec {
namespace {

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

// How often another server's lock is looked at again.
constexpr auto kLookAgain = std::chrono::milliseconds(50);
constexpr std::size_t kKeyLength = 64;

constexpr std::string_view kLockPrefix = ".lock-";
// Of a set that is being made, or removed; its key follows, then a dot.
constexpr std::string_view kUnfinishedPrefix = ".new-";

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

bool IsDirectory(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(fs::symlink_status(path, ignored));
}

std::uint64_t SizeOf(const fs::path& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    // What it takes on the disk, roughly: small files take a block.
    if (entry->is_regular_file(error)) bytes += (entry->file_size(error) + 4095) / 4096 * 4096;
  }
  return bytes;
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

PackageStore::PackageStore(PackageStoreOptions options, Installer& installer,
                           const log::Logger& log)
    : options_(std::move(options)), installer_(installer), log_(log) {}

Result<std::unique_ptr<PackageStore>> PackageStore::Open(PackageStoreOptions options,
                                                         Installer& installer,
                                                         const log::Logger& log) {
  std::error_code error;
  fs::create_directories(options.directory, error);
  if (error) return Error::FromErrno("make " + options.directory, error.value());
  std::unique_ptr<PackageStore> store(new PackageStore(std::move(options), installer, log));
  store->Sweep();
  store->MakeRoom();
  return store;
}

Result<Provision> PackageStore::Provide(const Installation& installation,
                                        const std::vector<std::string>& requirements,
                                        const ProvideOptions& options) {
  const auto& packages = installation.language.packages;
  if (requirements.empty() || !packages || packages->requirement_form.empty()) return Provision();
  POLYBOX_ASSIGN_OR_RETURN(std::vector<std::string> set, WholeSet(*packages, requirements));
  const Duration time = options.time.value_or(packages->limits.wall_time);
  const languages::Toolchain& toolchain = installation.toolchain;
  const Wish wish = {Sha256(fmt::format("{}\n{}\n{}\n{}\n{}", packages->installer,
                                        toolchain.executable, toolchain.version,
                                        installer_.Identity(installation), fmt::join(set, "\n"))),
                     {installation, std::move(set), time, options.cancel},
                     Clock::now() + time};
  Provision provision;
  while (true) {
    POLYBOX_ASSIGN_OR_RETURN(provision.lease, Use(wish.key));
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

Result<PackageLease> PackageStore::Use(const std::string& key) {
  const std::string path = PathOf(key);
  if (!IsDirectory(path)) return PackageLease();
  POLYBOX_ASSIGN_OR_RETURN(SetLock lock, SetLock::Try(LockPath(key), SetLock::Mode::kShared));
  if (!lock.held() || !IsDirectory(path)) return PackageLease();
  ::futimens(lock.file(), nullptr);  // used now
  return PackageLease(path, std::move(lock));
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
  Result<SetLock> lock = SetLock::Try(LockPath(wish.key), SetLock::Mode::kAlone);
  if (!lock.ok()) return std::move(lock).error();
  if (!lock->held()) {
    // Another server is at it.
    std::this_thread::sleep_for(std::min<Duration>(kLookAgain, wish.left()));
    return std::nullopt;
  }
  if (IsDirectory(PathOf(wish.key))) return std::nullopt;
  Result<InstallOutcome> outcome = InstallInto(wish, *lock);
  const bool installed = outcome.ok() && outcome->failure.empty();
  if (!installed) {
    ::unlink(LockPath(wish.key).c_str());
    return outcome;
  }
  lock->Share();
  if (lock->held() && IsDirectory(PathOf(wish.key))) {
    lease = PackageLease(PathOf(wish.key), std::move(*lock));
  }
  MakeRoom();
  return outcome;
}

Result<InstallOutcome> PackageStore::InstallInto(const Wish& wish, const SetLock& lock) {
  std::string fresh = PathOf(fmt::format("{}{}.XXXXXX", kUnfinishedPrefix, wish.key));
  if (::mkdtemp(fresh.data()) == nullptr) return Error::FromErrno("make " + fresh);
  const ScopeExit remove_fresh([&] {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
  });
  InstallJob job = wish.job;
  job.time = wish.left();
  POLYBOX_ASSIGN_OR_RETURN(InstallOutcome outcome, installer_.Install(job, fresh));
  if (!outcome.failure.empty()) return outcome;
  const std::uint64_t size = SizeOf(fresh);
  POLYBOX_RETURN_IF_ERROR(WriteAll(lock.file(), std::to_string(size)).In("note the set's size"));
  if (::chmod(fresh.c_str(), 0755) != 0) return Error::FromErrno("open up " + fresh);
  // A set must be whole on the disk before it has its name, or a power cut could leave half of one.
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd directory, OpenFile(fresh, O_RDONLY | O_DIRECTORY));
  if (::syncfs(directory.get()) != 0) return Error::FromErrno("write out " + fresh);
  if (std::rename(fresh.c_str(), PathOf(wish.key).c_str()) != 0) {
    return Error::FromErrno("name the set");
  }
  log_.Info("installed a package set", {{"language", job.installation.language.id},
                                        {"packages", job.requirements.size()},
                                        {"bytes", size}});
  return outcome;
}

void PackageStore::Sweep() {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(options_.directory, ignored)) {
    const std::string name = entry.path().filename();
    const bool unfinished = name.starts_with(kUnfinishedPrefix);
    if (!unfinished && !name.starts_with(kLockPrefix)) continue;
    const std::string key =
        name.substr(unfinished ? kUnfinishedPrefix.size() : kLockPrefix.size(), kKeyLength);
    const Result<SetLock> lock = SetLock::Try(LockPath(key), SetLock::Mode::kAlone);
    if (!lock.ok() || !lock->held()) continue;  // another server's
    if (unfinished) fs::remove_all(entry.path(), ignored);
    if (!IsDirectory(PathOf(key))) ::unlink(LockPath(key).c_str());
  }
}

void PackageStore::MakeRoom() {
  struct Set {
    timespec used;
    std::string key;
    std::uint64_t size;
  };
  std::vector<Set> sets;
  std::uint64_t total = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(options_.directory, ignored)) {
    Set set = {{}, entry.path().filename(), 0};
    if (set.key.size() != kKeyLength || set.key.starts_with('.')) continue;
    struct stat info{};
    if (::stat(LockPath(set.key).c_str(), &info) == 0) set.used = info.st_mtim;
    const std::string size = ReadFile(LockPath(set.key)).value_or("");
    std::from_chars(size.data(), size.data() + size.size(), set.size);
    total += set.size;
    sets.push_back(std::move(set));
  }
  std::ranges::sort(sets, [](const Set& a, const Set& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Set& set : sets) {
    if (total <= options_.size.count()) return;
    const Result<SetLock> lock = SetLock::Try(LockPath(set.key), SetLock::Mode::kAlone);
    if (!lock.ok() || !lock->held()) continue;  // in use
    Remove(set.key);
    total -= set.size;
  }
}

void PackageStore::Remove(const std::string& key) {
  // First out of its name: whoever finds a set finds a whole one.
  const std::string aside = PathOf(fmt::format("{}{}.old", kUnfinishedPrefix, key));
  std::error_code ignored;
  if (std::rename(PathOf(key).c_str(), aside.c_str()) == 0) fs::remove_all(aside, ignored);
  ::unlink(LockPath(key).c_str());
}

}  // namespace polybox::exec
