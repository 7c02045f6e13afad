// Installs packages with the language's own installer, in a jail whose only network is an egress
// proxy of its own. The result is copied out of the jail with the same care as files of a guest,
// because an installer runs code of package authors. package_source.h makes the
// installer of the server.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "jail/slot_numbers.h"
#include "jail/spec.h"
#include "languages/placeholders.h"
#include "launch/jail_home.h"
#include "net/egress_ledger.h"
#include "net/egress_policy.h"
#include "net/egress_proxy.h"
#include "net/upstream.h"
#include "packages/installer.h"

namespace polybox::packages {

/// Settings of an installer.
struct JailInstallerOptions {
  /// The number of the first slot, and the number of slots that run at once. No other slot may have
  /// these numbers. They are far from those of the pool, and have the last uids that a server uses
  /// (jail/id_map.cc). Each slot may use as much memory as the language file allows.
  unsigned first_slot = jail::SlotNumber(jail::SlotUse::kInstaller, 0);
  unsigned at_once = 2;
  /// The hosts that installers may reach, the proxy through which they are reached, and limits of
  /// the traffic.
  net::EgressPolicy policy;
  net::Upstream upstream = {};
  net::EgressLimits egress = {};
  /// The address of the package index, by the installer's name. Absent: the installer's own
  /// default.
  std::map<std::string, std::string> indexes = {};
  /// Whether scripts of packages run during installation.
  bool scripts = false;
  /// Directories in which to look for the installers' programs, in the format of $PATH.
  std::string path;
  /// Returns a variable of the server's environment; "" if it is not set.
  std::function<std::string(const std::string&)> variable;
};

/// Returns whether all programs of the language's installer exist. `path` has the format of $PATH.
bool HasInstaller(const launch::Installation& installation, const std::string& path);

/// Runs installers in jails. Any thread; at most `at_once` installers run at the same time.
class JailInstaller : public Installer {
 public:
  /// `home` must outlive it.
  JailInstaller(const launch::JailHome& home, JailInstallerOptions options,
                std::shared_ptr<net::EgressLedger> ledger);

  /// Runs the installer and copies the result to `target`. Blocks meanwhile. Grades without
  /// namespaces have no network that polybox could control. There nothing is installed, and the
  /// outcome's failure says so.
  Result<InstallOutcome> Install(const InstallJob& job, const std::string& target) override;
  std::string Identity(const launch::Installation& installation) const override;

 private:
  struct Prepared;
  class Number;

  /// Returns what the jail shows and executes. An error of kind kNotFound names a missing program.
  Result<Prepared> Prepare(const InstallJob& job) const;
  /// Adds the installer's programs to `spec`. Returns their paths on this host, by name.
  Result<std::map<std::string, std::string>> ShowPrograms(const InstallJob& job,
                                                          jail::Spec& spec) const;
  /// Returns the installer's command line.
  languages::Argv Command(const InstallJob& job, const languages::Placeholders& values) const;
  /// Returns the installer's environment, and adds the paths in it to `spec`.
  languages::Env Environment(const languages::Packages& packages,
                             const languages::Placeholders& values, jail::Spec& spec) const;
  /// Runs the installer in the slot with this number and copies the result to `target`.
  Result<InstallOutcome> RunIn(const Prepared& prepared, const InstallJob& job,
                               const std::string& target, unsigned number);

  const launch::JailHome& home_;
  JailInstallerOptions options_;
  std::shared_ptr<net::EgressLedger> ledger_;
  /// Guards `free_`.
  mutable std::mutex mutex_;
  /// Notified when a number becomes free.
  std::condition_variable_any freed_;
  /// The slot numbers that no installation uses.
  std::set<unsigned> free_;
};

}  // namespace polybox::packages
