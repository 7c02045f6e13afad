// The compile cache keeps the results of successful compile steps, by a digest of everything that
// the compiler saw (compile_key.h). Compile steps (compile_step.h) use it. An entry is a single
// file that gets its name when it is complete, and never changes. Only the server writes entries. A
// lookup returns an open descriptor, so removing an entry does not harm its users. Several servers
// may share a directory. Any thread.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

#include <sys/types.h>

#include "base/log.h"
#include "base/result.h"
#include "base/units.h"
#include "compile/compiled_entry.h"

namespace polybox::compile {

/// Settings of a cache.
struct CompileCacheOptions {
  /// Created if it does not exist.
  std::string directory;
  /// The size of all entries together. The limit is approximate: servers that share the directory
  /// do not tell each other of every entry.
  Bytes size = Bytes::MiB(1024);
  /// Limits of one entry; the cache lowers the size to a quarter of `size`.
  EntryLimits entry = {};
};

class CompileCache {
 public:
  /// Opens the directory and closes it to other users. Does not read the entries.
  static Result<std::unique_ptr<CompileCache>> Open(CompileCacheOptions options,
                                                    const log::Logger& log);

  /// Returns the entry of the key if it exists and is complete; nothing otherwise. A damaged entry
  /// is removed.
  std::optional<CompiledEntry> Find(const std::string& key);

  /// Stores everything below `directory` (borrowed, from jail::Slot::OpenDirectory). An error of
  /// kind kInvalid says what makes the result unfit for the cache.
  Status Store(int directory, const EntryContext& context);

  /// The right to compile for a key. One thread of this process has it at a time. The cache must
  /// outlive it.
  class [[nodiscard]] Turn {
   public:
    Turn() = default;
    Turn(CompileCache& cache, std::string key) : cache_(&cache), key_(std::move(key)) {}
    Turn(Turn&& other) noexcept
        : cache_(std::exchange(other.cache_, nullptr)), key_(std::move(other.key_)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (cache_ != nullptr) cache_->EndTurn(key_);
    }

    bool held() const { return cache_ != nullptr; }

   private:
    CompileCache* cache_ = nullptr;
    std::string key_;
  };
  /// Returns a held turn at once if no other thread has one for the key. Otherwise waits until that
  /// turn ends or `cancel` is requested, and returns a turn that is not held. The caller should
  /// then look for the entry again.
  Turn TakeTurn(const std::string& key, const std::stop_token& cancel);

  /// Removes unfinished files of killed servers. Then removes the entries that were not used for
  /// the longest time, until the rest fits.
  void CleanUp();

 private:
  CompileCache(CompileCacheOptions options, const log::Logger& log);

  std::string PathOf(const std::string& name) const { return options_.directory + "/" + name; }
  /// Ends a turn and wakes the threads that wait for it.
  void EndTurn(const std::string& key);
  /// Returns whether the contents of the entry are complete. Reads all of them the first time.
  bool IsTrusted(const CompiledEntry& entry);
  /// Records that the contents of this file are complete.
  void Trust(int file);
  /// Called after an entry of this size was added. Cleans up if the directory may be full, or if
  /// this process has added much since the last count.
  void CleanUpWhenDue(std::uint64_t added);

  CompileCacheOptions options_;
  log::Logger log_;
  /// Guards all members below. It is not held during file operations.
  std::mutex mutex_;
  /// Notified when a turn ends.
  std::condition_variable_any changed_;
  /// The keys for which a turn is held.
  std::set<std::string> turns_;
  /// Device and inode numbers of files whose contents this process has written or read completely.
  std::set<std::pair<dev_t, ino_t>> trusted_;
  /// The size of all entries at the last count, and what this process has added since.
  std::uint64_t counted_ = 0;
  std::uint64_t added_ = 0;
  bool has_counted_ = false;
};

}  // namespace polybox::compile
