// Provides package sets to the engine. The implementation that the server uses installs packages in
// jails and keeps them in a directory.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/units.h"
#include "launch/jail_home.h"
#include "launch/launch.h"
#include "net/egress_ledger.h"
#include "packages/installer.h"

namespace polybox::packages {

/// A directory with the packages that a request asks for.
struct PackageSet {
  /// Its path on the host.
  std::string directory;
  /// Keeps the directory from being removed. Null for the preinstalled packages, which are never
  /// removed.
  std::shared_ptr<void> lease;
};

/// The conditions under which PackageSource::Get() may install packages.
struct PackageTerms {
  /// The time limit for waiting and installing together.
  Duration time{};
  /// Stop is requested when the request is cancelled; the installation then ends early.
  std::stop_token cancel = {};
  /// The name under which the client set `time`. The message of an installation that takes too long
  /// quotes it.
  std::string time_name = {};
  /// Called once, on the calling thread, when Get() has to install packages or to wait for an
  /// installation. May be null.
  std::function<void()> on_install = {};
};

/// Provides package sets to the engine. Several threads may call it at once.
class PackageSource {
 public:
  virtual ~PackageSource() = default;
  /// Installs the packages, or finds a set that is installed already. Blocks meanwhile. An error of
  /// kind kInvalid is a requirement that is refused. The message of any other error becomes
  /// Report::install_failure.
  virtual Result<PackageSet> Get(const launch::Installation& installation,
                                 const std::vector<std::string>& requirements,
                                 const PackageTerms& terms) = 0;
};

/// Settings of the source.
struct PackageSourceOptions {
  /// The directory of the sets; created if it does not exist.
  std::string directory;
  /// The space that all sets may use together.
  Bytes size = Bytes::MiB(2048);
  /// The hosts that installers may reach, in the notation of net/egress_policy.h.
  std::vector<std::string> egress_allow = {"public"};
  /// The name of the setting that `egress_allow` comes from, for messages about refused
  /// connections.
  std::string egress_setting = "egress-allow";
  /// The address of the package index, by the installer's name. Absent or "": the installer's own
  /// default.
  std::map<std::string, std::string> indexes = {};
  /// Whether scripts of packages run during installation.
  bool scripts = false;
  /// Returns a variable of the server's environment, "" if it is not set. Used for PATH, a
  /// company's proxy, and the variables that language files pass on to installers.
  std::function<std::string(const std::string&)> variable;
  /// Records which hosts installers ask for. Null: only the log records it.
  std::shared_ptr<net::EgressLedger> ledger = nullptr;
};

/// Makes an installer that works like the one for requests, but fills any directory. `home` must
/// outlive it.
Result<std::unique_ptr<Installer>> MakeJailInstaller(const launch::JailHome& home,
                                                     const PackageSourceOptions& options,
                                                     const log::Logger& log);

/// Makes the source and opens its directory. `home` must outlive the source.
Result<std::unique_ptr<PackageSource>> MakePackageSource(const launch::JailHome& home,
                                                         PackageSourceOptions options,
                                                         const log::Logger& log);

}  // namespace polybox::packages
