#include "compile/compile_cache.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/scope_exit.h"

namespace polybox::compile {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeyLength = 64;
// The name of an entry that is being written begins with this. Its writer holds a lock on it.
constexpr std::string_view kUnfinishedPrefix = ".new-";
// A cleanup leaves this fraction of the cache's size (a tenth) free, so that reading the whole
// directory is rare.
constexpr std::uint64_t kFreeAtOnce = 10;
// The server counts all entries again after it has added this fraction of the cache's size (a
// sixteenth), because other servers add entries as well.
constexpr std::uint64_t kCountAgain = 16;
// The largest number of files that are remembered as complete. Beyond it, files are read completely
// once more.
constexpr std::size_t kMostTrusted = 65536;

/// The size on the disk: even a small file uses a whole block.
std::uint64_t OnDisk(std::uint64_t size) {
  return (size + 4095) / 4096 * 4096;
}

/// An entry in the directory.
struct Kept {
  timespec used{};
  std::string name;
  std::uint64_t size = 0;
};

bool UsedEarlier(const Kept& a, const Kept& b) {
  return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
}

/// Removes an unfinished file of a killed server: no process holds its lock.
void RemoveIfAbandoned(const std::string& path) {
  const Result<UniqueFd> file = OpenFile(path, O_RDONLY);
  // The lock shows that no process writes the file any more. It ends when this function returns.
  if (!file.ok() || ::flock(file->get(), LOCK_EX | LOCK_NB) != 0) return;
  ::unlink(path.c_str());
}

/// Makes a new, locked file for an entry; `path` becomes its name.
Result<UniqueFd> MakeUnfinished(const std::string& directory, std::string& path) {
  constexpr int kAttempts = 16;
  for (int i = 0; i < kAttempts; ++i) {
    path = fmt::format("{}/{}XXXXXX", directory, kUnfinishedPrefix);
    UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
    struct stat info{};
    if (!file.valid() || ::flock(file.get(), LOCK_SH) != 0 || ::fstat(file.get(), &info) != 0) {
      return Error::FromErrno("make " + path);
    }
    // Another server's cleanup may have removed the file before this thread locked it.
    if (info.st_nlink > 0) return file;
  }
  return Error(ErrorKind::kSystem, "make a cache entry: others remove it at once");
}

/// The modification time of an entry is the time of its last use. A resolution of a second is
/// sufficient; with a finer one each hit would cause a write.
void NoteUse(int file, const struct stat& info) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (info.st_mtim.tv_sec != now.tv_sec) ::futimens(file, nullptr);
}

}  // namespace

CompileCache::CompileCache(CompileCacheOptions options, const log::Logger& log)
    : options_(std::move(options)), log_(log) {
  // One entry must never push out all others.
  options_.entry.bytes = std::min(options_.entry.bytes, Bytes(options_.size.count() / 4));
}

Result<std::unique_ptr<CompileCache>> CompileCache::Open(CompileCacheOptions options,
                                                         const log::Logger& log) {
  std::error_code error;
  fs::create_directories(options.directory, error);
  if (error) return Error::FromErrno("make " + options.directory, error.value());
  // A user who can write to this directory decides what other users run.
  if (::chmod(options.directory.c_str(), 0700) != 0) {
    return Error::FromErrno("close " + options.directory + " to others");
  }
  return std::unique_ptr<CompileCache>(new CompileCache(std::move(options), log));
}

std::optional<CompiledEntry> CompileCache::Find(const std::string& key) {
  Result<UniqueFd> file = OpenFile(PathOf(key), O_RDONLY | O_NOFOLLOW);
  if (!file.ok()) return std::nullopt;
  struct stat info{};
  // Entries of another user are not trusted.
  if (::fstat(file->get(), &info) != 0 || info.st_uid != ::geteuid()) return std::nullopt;
  Result<CompiledEntry> entry = ReadEntry(std::move(file).value(), key);
  if (entry.ok() && IsTrusted(*entry)) {
    NoteUse(entry->file.get(), info);
    return std::move(entry).value();
  }
  log_.Warn("a damaged entry of the compile cache is removed", {{"entry", key}});
  ::unlink(PathOf(key).c_str());
  return std::nullopt;
}

bool CompileCache::IsTrusted(const CompiledEntry& entry) {
  struct stat info{};
  if (::fstat(entry.file.get(), &info) != 0) return false;
  {
    const std::lock_guard lock(mutex_);
    if (trusted_.contains({info.st_dev, info.st_ino})) return true;
  }
  // After a power failure a file may have the right size and lack data. While this process runs
  // that cannot happen, and no other user writes here. One check is therefore sufficient.
  if (!ContentsAreWhole(entry)) return false;
  Trust(entry.file.get());
  return true;
}

void CompileCache::Trust(int file) {
  struct stat info{};
  if (::fstat(file, &info) != 0) return;
  const std::lock_guard lock(mutex_);
  if (trusted_.size() >= kMostTrusted) trusted_.clear();
  trusted_.emplace(info.st_dev, info.st_ino);
}

Status CompileCache::Store(int directory, const EntryContext& context) {
  std::string fresh;
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd file, MakeUnfinished(options_.directory, fresh));
  ScopeExit remove_fresh([&] { ::unlink(fresh.c_str()); });
  POLYBOX_RETURN_IF_ERROR(WriteEntry(file.get(), directory, context, options_.entry)
                              .In("keep the result of a compiler"));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return Error::FromErrno("look at " + fresh);
  // The file is not synced. After a power failure the digests reveal a damaged file, and waiting
  // for the disk would delay each compile step.
  // rename() is atomic: a reader finds the complete entry or none.
  if (std::rename(fresh.c_str(), PathOf(context.key).c_str()) != 0) {
    return Error::FromErrno("name a cache entry");
  }
  remove_fresh.Cancel();
  Trust(file.get());
  CleanUpWhenDue(OnDisk(static_cast<std::uint64_t>(info.st_size)));
  return {};
}

CompileCache::Turn CompileCache::TakeTurn(const std::string& key, const std::stop_token& cancel) {
  std::unique_lock lock(mutex_);
  if (turns_.insert(key).second) return {*this, key};
  changed_.wait(lock, cancel, [&] { return !turns_.contains(key); });
  return {};
}

void CompileCache::EndTurn(const std::string& key) {
  {
    const std::lock_guard lock(mutex_);
    turns_.erase(key);
  }
  changed_.notify_all();
}

void CompileCache::CleanUpWhenDue(std::uint64_t added) {
  {
    const std::lock_guard lock(mutex_);
    added_ += added;
    // Other servers may have added entries too, so the count is only approximate.
    const bool full = counted_ + added_ > options_.size.count();
    if (has_counted_ && !full && added_ <= options_.size.count() / kCountAgain) return;
  }
  CleanUp();
}

void CompileCache::CleanUp() {
  std::vector<Kept> all;
  std::uint64_t total = 0;
  std::error_code ignored;
  for (const auto& item : fs::directory_iterator(options_.directory, ignored)) {
    Kept kept = {{}, item.path().filename(), 0};
    if (kept.name.starts_with(kUnfinishedPrefix)) RemoveIfAbandoned(item.path());
    struct stat info{};
    if (kept.name.size() != kKeyLength || ::lstat(item.path().c_str(), &info) != 0) continue;
    kept.used = info.st_mtim;
    kept.size = OnDisk(static_cast<std::uint64_t>(info.st_size));
    total += kept.size;
    all.push_back(std::move(kept));
  }
  const std::uint64_t most = options_.size.count();
  if (total > most) {
    std::ranges::sort(all, UsedEarlier);
    for (const Kept& kept : all) {
      if (total <= most - most / kFreeAtOnce) break;
      ::unlink(PathOf(kept.name).c_str());
      total -= kept.size;
    }
  }
  const std::lock_guard lock(mutex_);
  counted_ = total;
  added_ = 0;
  has_counted_ = true;
}

}  // namespace polybox::compile
