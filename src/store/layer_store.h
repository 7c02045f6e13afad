// A store of directories ("layers") that are made once and then only read: package sets, and files
// prepared for compilers. The key of a layer identifies its content. A layer gets its name when it
// is complete. Layers that were not used for the longest time are removed when space is needed.
// Used by package_store.h and preparer.h. Several servers may share a store. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "base/units.h"
#include "store/set_lock.h"

namespace polybox::store {

/// Prevents the removal of a layer as long as it exists, by a shared lock.
class [[nodiscard]] LayerLease {
 public:
  LayerLease() = default;
  LayerLease(std::string path, SetLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  /// The layer's directory on the host; "" when there is none.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  SetLock lock_;
};

/// Settings of a store.
struct LayerStoreOptions {
  /// Created if it does not exist.
  std::string directory;
  /// The size of all layers together. Layers in use are never removed, so they may exceed it.
  Bytes size = Bytes::MiB(2048);
};

class LayerStore {
 public:
  /// Opens the directory, removes what killed servers left, and then makes room.
  static Result<std::unique_ptr<LayerStore>> Open(LayerStoreOptions options);

  /// Returns a lease of the layer with this key (64 hexadecimal digits). The lease is empty if
  /// there is none, or if another process makes or removes it now.
  Result<LayerLease> Use(const std::string& key);

  /// The result of Make().
  struct Made {
    /// Another process or thread holds the layer's lock. The caller should look for the layer
    /// again.
    bool busy = false;
    /// The layer existed.
    bool there = false;
    /// This call made the layer.
    bool fresh = false;
    /// The size of the fresh layer.
    Bytes size;
    /// A lease of the fresh layer. The layer must not be removed before its use, even if it exceeds
    /// the store's size.
    LayerLease lease;
  };
  /// Makes the layer unless it exists. `fill` gets a new directory and returns whether its content
  /// is complete. If not, the directory is removed.
  Result<Made> Make(const std::string& key,
                    const std::function<Result<bool>(const std::string&)>& fill);

 private:
  explicit LayerStore(LayerStoreOptions options) : options_(std::move(options)) {}

  std::string PathOf(const std::string& name) const { return options_.directory + "/" + name; }
  std::string LockPath(const std::string& key) const { return PathOf(".lock-" + key); }
  /// Makes the layer; the caller holds its lock alone. Returns the size, or nothing when `fill`
  /// returned false.
  Result<std::optional<Bytes>> MakeAlone(
      const std::string& key, const SetLock& lock,
      const std::function<Result<bool>(const std::string&)>& fill);
  /// Removes unfinished directories and lock files that no process holds.
  void Sweep();
  /// Removes the layers that were not used for the longest time, until the rest fits. Locked layers
  /// stay.
  void MakeRoom();
  /// Removes a layer and its lock file. The caller holds the lock alone.
  void Remove(const std::string& key);

  LayerStoreOptions options_;
};

}  // namespace polybox::store
