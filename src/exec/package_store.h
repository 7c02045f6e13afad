// Package sets: what `requirements` ask for, installed once per distinct set into a directory that
// runs see read-only, kept until room is needed. Several servers may share a directory. Any thread.
#pragma once

#include <condition_variable>
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
#include "exec/installer.h"
#include "exec/layer_store.h"

namespace polybox::exec {

using PackageLease = LayerLease;

struct Provision {
  PackageLease lease;
  /// "exit status 1: ...", with what the installer said; then there is no set.
  std::optional<std::string> failure;
  /// It was not there already.
  bool installed = false;
};

struct ProvideOptions {
  /// Absent: the language's own limit.
  std::optional<Duration> time = {};
  std::stop_token cancel = {};
};

struct PackageStoreOptions {
  /// Made when it is not there.
  std::string directory;
  /// Of all sets; those in use may be more.
  Bytes size = Bytes::MiB(2048);
};

class PackageStore {
 public:
  /// Sweeps what a killed server left. `installer` must outlive the store.
  static Result<std::unique_ptr<PackageStore>> Open(PackageStoreOptions options,
                                                    Installer& installer, const log::Logger& log);

  /// The set with these packages and the language's preinstalled ones. No requirements, or a
  /// language that takes none: an empty lease. An error of kind kInvalid is a requirement that
  /// cannot be one; others are our own failure, and leave nothing behind.
  Result<Provision> Provide(const Installation& installation,
                            const std::vector<std::string>& requirements,
                            const ProvideOptions& options = {});

 private:
  /// An installation that others wait for.
  struct Pending {
    bool done = false;
    std::optional<Result<InstallOutcome>> outcome;
  };
  struct Wish;

  PackageStore(Installer& installer, const log::Logger& log);

  /// Installs, or waits for whoever does. Nothing when it is worth looking again.
  std::optional<Result<InstallOutcome>> InstallOrWait(const Wish& wish, PackageLease& lease);
  /// `lease` is that of the new set: it must not go before it is used, even if it is too large.
  std::optional<Result<InstallOutcome>> InstallAlone(const Wish& wish, PackageLease& lease);

  std::unique_ptr<LayerStore> layers_;
  Installer& installer_;
  log::Logger log_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, std::shared_ptr<Pending>> pending_;
};

}  // namespace polybox::exec
