// Package sets for the engine: installed in jails, kept in a directory. The real PackageSource.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/units.h"
#include "exec/engine.h"
#include "exec/installer.h"
#include "exec/jail_home.h"
#include "net/egress_ledger.h"

namespace polybox::exec {

struct PackageSourceOptions {
  /// Of the sets; made when it is not there.
  std::string directory;
  /// How much room they may take.
  Bytes size = Bytes::MiB(2048);
  /// Whom installers may reach: see net/egress_policy.h.
  std::vector<std::string> egress_allow = {"public"};
  /// The setting that `egress_allow` comes from, for refusals.
  std::string egress_setting = "egress-allow";
  /// Where packages come from, by the installer's name; absent or "": where it looks by itself.
  std::map<std::string, std::string> indexes = {};
  /// Whether scripts of packages run while they are installed.
  bool scripts = false;
  /// Of our own environment, "" for what is not set: PATH, a company's proxy, and what language
  /// files pass on to installers.
  std::function<std::string(const std::string&)> variable;
  /// Where it is written down what installers ask for; null for nowhere but the log.
  std::shared_ptr<net::EgressLedger> ledger = nullptr;
};

/// Installs as the sets of requests are, into any directory. `home` must outlive it.
Result<std::unique_ptr<Installer>> MakeJailInstaller(const JailHome& home,
                                                     const PackageSourceOptions& options,
                                                     const log::Logger& log);

/// `home` must outlive it.
Result<std::unique_ptr<PackageSource>> MakePackageSource(const JailHome& home,
                                                         PackageSourceOptions options,
                                                         const log::Logger& log);

}  // namespace polybox::exec
