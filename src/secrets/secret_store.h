// The secrets that the operator gives to agents by name: from variables of the environment, which
// were read at the start, and from files of a directory, which are read for each request. Values
// never go to a child process. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "secrets/environment.h"
#include "secrets/matcher.h"

namespace polybox::secrets {

/// A value that was given to a caller, without the value.
struct Access {
  std::string name;
  std::string principal;
  /// "env" or "file".
  std::string_view source;
  std::size_t size = 0;
};

struct StoreOptions {
  std::vector<EnvironmentSecret> environment = {};
  /// The absolute path of the directory; "" for none.
  std::string directory = {};
};

class SecretStore {
 public:
  /// The longest value that is read. A bundle of certificates with its key is shorter.
  static constexpr Bytes kLargest = Bytes::KiB(16);
  /// The scrubber looks for all values, so there is a bound to their number.
  static constexpr std::size_t kMost = 256;

  /// Fails if the directory cannot be opened.
  static Result<std::unique_ptr<SecretStore>> Open(StoreOptions options);

  /// Sets what is called for each access, without any lock. Call before the first Get().
  void Watch(std::function<void(const Access&)> on_access) { on_access_ = std::move(on_access); }
  /// Returns whether there can be any secret.
  bool configured() const { return !options_.environment.empty() || directory_.valid(); }
  /// Returns the value. Line breaks at the end of a file do not belong to it. The words of the
  /// errors are a contract: agents know them.
  Result<std::string> Get(const std::string& name, const std::string& principal);
  /// Returns the names of all secrets, sorted.
  Result<std::vector<std::string>> Names() const;

  /// Returns all values that are known now, and those that callers got before a file changed. The
  /// files are looked at again at most once a second, because each answer of a tool asks.
  std::shared_ptr<const std::vector<KnownValue>> Known();

 private:
  /// Tells whether a file is still the one that was read.
  struct Stamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t changed_ns = 0;

    bool operator==(const Stamp&) const = default;
  };
  struct ReadFile {
    Stamp stamp;
    std::string value;
  };

  explicit SecretStore(StoreOptions options) : options_(std::move(options)) {}

  const EnvironmentSecret* InEnvironment(const std::string& name) const;
  Result<std::string> FileNameOf(const std::string& name) const;
  Result<std::string> GetFile(const std::string& file);
  Error Unknown(const std::string& name) const;
  Result<std::vector<std::string>> FileNames() const;
  Result<UniqueFd> OpenFile(const std::string& file, int flags) const;
  /// The caller holds `mutex_`.
  Status LookAtFile(const std::string& file);
  void Remember(const std::string& name, const std::string& value);
  void Publish();

  const StoreOptions options_;
  std::function<void(const Access&)> on_access_;
  UniqueFd directory_;
  std::mutex mutex_;
  // All below are guarded by mutex_.
  std::map<std::string, ReadFile> files_;
  /// Values that callers have, newest last. A file may have another value by now.
  std::vector<KnownValue> given_;
  std::shared_ptr<const std::vector<KnownValue>> known_;
  std::chrono::steady_clock::time_point looked_{};
};

}  // namespace polybox::secrets
