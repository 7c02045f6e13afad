// Installs the packages that `requirements` of requests ask for, once for each distinct set. A set
// is a directory that guests see read-only; it is kept until its space is needed. Used by
// package_source.h. Several servers may share a directory. Any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/units.h"
#include "packages/installer.h"
#include "store/layer_store.h"

namespace polybox::packages {

using PackageLease = store::LayerLease;

/// The answer of PackageStore::Provide().
struct Provision {
  /// The set; without a path if there is none.
  PackageLease lease;
  /// How the installer failed, with its output: "exit status 1: ...". There is no set then.
  std::optional<std::string> failure;
  /// Whether the packages were installed by this call or during it. False if the set existed.
  bool installed = false;
};

/// The conditions of one caller.
struct ProvideOptions {
  /// Time limit for waiting and installing together. Absent: the language's own limit.
  std::optional<Duration> time = {};
  /// The caller's name for `time`, for messages; "" when it is the language's own limit.
  std::string time_name = {};
  /// Stop is requested when the caller no longer needs the packages.
  std::stop_token cancel = {};
  /// Called once, on the calling thread, when an installation is waited for. May be null.
  std::function<void()> on_install = {};
};

/// Settings of a store.
struct PackageStoreOptions {
  /// Created if it does not exist.
  std::string directory;
  /// The size of all sets together. Sets in use are never removed, so they may exceed it.
  Bytes size = Bytes::MiB(2048);
};

class PackageStore {
 public:
  /// Opens the directory and removes what killed servers left there. `installer` must outlive the
  /// store.
  static Result<std::unique_ptr<PackageStore>> Open(PackageStoreOptions options,
                                                    Installer& installer, const log::Logger& log);

  /// Returns the set with these packages and the language's preinstalled ones; installs it if it
  /// does not exist. Blocks meanwhile. Without requirements, or for a language that takes none, the
  /// lease is empty. An error of kind kInvalid is a malformed requirement. Other errors are
  /// failures of polybox; no partial set remains.
  Result<Provision> Provide(const launch::Installation& installation,
                            const std::vector<std::string>& requirements,
                            const ProvideOptions& options = {});

 private:
  /// An installation by one thread, for which other threads may wait. The store's mutex guards it.
  struct Pending {
    bool done = false;
    std::optional<Result<InstallOutcome>> outcome;
  };
  struct Wish;

  PackageStore(Installer& installer, const log::Logger& log);

  /// Installs the set, or waits for the thread of this process that does. Returns nothing if the
  /// caller should look for the set again.
  std::optional<Result<InstallOutcome>> InstallOrWait(const Wish& wish, PackageLease& lease);
  /// Installs the set under its lock file. `lease` becomes that of the new set: the set must not be
  /// removed before its use, even if it exceeds the store's size. Returns nothing if another
  /// process holds the lock.
  std::optional<Result<InstallOutcome>> InstallAlone(const Wish& wish, PackageLease& lease);

  std::unique_ptr<store::LayerStore> layers_;
  Installer& installer_;
  log::Logger log_;
  /// Guards the members below. It is not held while packages are installed.
  std::mutex mutex_;
  /// Notified when an installation of this process ends.
  std::condition_variable_any changed_;
  /// The installations of this process, by the key of the set.
  std::map<std::string, std::shared_ptr<Pending>> pending_;
};

}  // namespace polybox::packages
