// The compile cache: what successful compile steps left, by everything that they saw
// (compile_key.h). Entries are single files that get their name when they are whole and never
// change; only the server writes them, and what it hands out is an open descriptor, so whoever
// removes one harms nobody. Several servers may share a directory. Any thread.
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
#include "exec/compiled_entry.h"

namespace polybox::exec {

struct CompileCacheOptions {
  /// Made when it is not there.
  std::string directory;
  /// Of all entries together, roughly: servers that share the directory do not tell each other of
  /// every entry.
  Bytes size = Bytes::MiB(1024);
  EntryLimits entry = {};
};

class CompileCache {
 public:
  static Result<std::unique_ptr<CompileCache>> Open(CompileCacheOptions options,
                                                    const log::Logger& log);

  /// An entry that is there and whole. One that is not whole is removed.
  std::optional<CompiledEntry> Find(const std::string& key);

  /// Keeps what is below `directory` (borrowed, from jail::Slot::OpenDirectory). An error of kind
  /// kInvalid says why that cannot be kept.
  Status Store(int directory, const EntryContext& context);

  /// The right to compile for a key, which one has at a time in this process.
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
  /// At once when nobody else has it; otherwise waits for the end of the other's turn, or `cancel`,
  /// and gives none: it is worth looking again.
  Turn TakeTurn(const std::string& key, const std::stop_token& cancel);

  /// Removes what a killed server left, and what was not used for longest until the rest fits.
  void CleanUp();

 private:
  CompileCache(CompileCacheOptions options, const log::Logger& log);

  std::string PathOf(const std::string& name) const { return options_.directory + "/" + name; }
  void EndTurn(const std::string& key);
  bool IsTrusted(const CompiledEntry& entry);
  void Trust(int file);
  /// After an entry of this size was added.
  void CleanUpWhenDue(std::uint64_t added);

  CompileCacheOptions options_;
  log::Logger log_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::set<std::string> turns_;
  /// Files whose contents this process has written or read as a whole.
  std::set<std::pair<dev_t, ino_t>> trusted_;
  /// All entries when they were last counted, and what this process has added since.
  std::uint64_t counted_ = 0;
  std::uint64_t added_ = 0;
  bool has_counted_ = false;
};

}  // namespace polybox::exec
