// Directories that are made once and then only read: package sets, and what compilers are prepared
// with. Each has a key that says what is in it, and is whole when it has its name; those not used
// for longest go when room is needed. Several servers may share a store. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "base/units.h"
#include "exec/set_lock.h"

namespace polybox::exec {

/// Keeps a layer from being removed.
class [[nodiscard]] LayerLease {
 public:
  LayerLease() = default;
  LayerLease(std::string path, SetLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  /// Its directory on the host; "" when there is none.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  SetLock lock_;
};

struct LayerStoreOptions {
  /// Made when it is not there.
  std::string directory;
  /// Of all layers; those in use may be more.
  Bytes size = Bytes::MiB(2048);
};

class LayerStore {
 public:
  /// Sweeps what a killed server left.
  static Result<std::unique_ptr<LayerStore>> Open(LayerStoreOptions options);

  /// The layer with this key (64 hexadecimal digits), if it is there.
  Result<LayerLease> Use(const std::string& key);

  struct Made {
    /// Another process makes or removes it: worth looking again.
    bool busy = false;
    /// It was there already.
    bool there = false;
    /// By us, just now.
    bool fresh = false;
    Bytes size;
    /// Of the fresh layer: it must not go before it is used, even if it is too large.
    LayerLease lease;
  };
  /// Makes it unless it is there. `fill` gets a new directory, and says whether it is complete; if
  /// not, nothing is left of it.
  Result<Made> Make(const std::string& key,
                    const std::function<Result<bool>(const std::string&)>& fill);

 private:
  explicit LayerStore(LayerStoreOptions options) : options_(std::move(options)) {}

  std::string PathOf(const std::string& name) const { return options_.directory + "/" + name; }
  std::string LockPath(const std::string& key) const { return PathOf(".lock-" + key); }
  /// Its size; nothing when `fill` said that it is not complete.
  Result<std::optional<Bytes>> MakeAlone(
      const std::string& key, const SetLock& lock,
      const std::function<Result<bool>(const std::string&)>& fill);
  void Sweep();
  /// Removes what was not used for longest until the rest fits.
  void MakeRoom();
  void Remove(const std::string& key);

  LayerStoreOptions options_;
};

}  // namespace polybox::exec
