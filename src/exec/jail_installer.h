// Installs packages with the language's own installer, in a jail whose only network is an egress
// proxy of its own. What comes out of the jail is copied by us, as carefully as anything that a
// guest made: an installer runs code of package authors.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "exec/installer.h"
#include "exec/jail_home.h"
#include "jail/spec.h"
#include "languages/placeholders.h"
#include "net/egress_ledger.h"
#include "net/egress_policy.h"
#include "net/egress_proxy.h"
#include "net/upstream.h"

namespace polybox::exec {

struct JailInstallerOptions {
  /// The numbers of its slots, which no other may use: `at_once` from here, far from those of the
  /// pool, and with the last of the uids that a server has (jail/slot.cc). Each slot may take as
  /// much memory as the language file allows.
  unsigned first_slot = 0x10000 + 126;
  unsigned at_once = 2;
  net::EgressPolicy policy;
  net::Upstream upstream = {};
  net::EgressLimits egress = {};
  /// Where packages come from, by the installer's name; absent: where it looks by itself.
  std::map<std::string, std::string> indexes = {};
  /// Whether scripts of packages run while they are installed.
  bool scripts = false;
  /// As $PATH writes it.
  std::string path;
  /// Of our own environment; "" for what is not set.
  std::function<std::string(const std::string&)> variable;
};

class JailInstaller : public Installer {
 public:
  /// `home` must outlive it.
  JailInstaller(const JailHome& home, JailInstallerOptions options,
                std::shared_ptr<net::EgressLedger> ledger);

  /// Grades without namespaces have no network that could be watched: there nothing is installed,
  /// and the failure says so.
  Result<InstallOutcome> Install(const InstallJob& job, const std::string& target) override;
  std::string Identity(const Installation& installation) const override;

 private:
  struct Prepared;
  class Number;

  /// What is shown and executed; the error of kind kNotFound names a missing program.
  Result<Prepared> Prepare(const InstallJob& job) const;
  /// The installer's programs as they are found here, by name.
  Result<std::map<std::string, std::string>> ShowPrograms(const InstallJob& job,
                                                          jail::Spec& spec) const;
  languages::Argv Command(const InstallJob& job, const languages::Placeholders& values) const;
  languages::Env Environment(const languages::Packages& packages,
                             const languages::Placeholders& values, jail::Spec& spec) const;
  Result<InstallOutcome> RunIn(const Prepared& prepared, const InstallJob& job,
                               const std::string& target, unsigned number);

  const JailHome& home_;
  JailInstallerOptions options_;
  std::shared_ptr<net::EgressLedger> ledger_;
  mutable std::mutex mutex_;
  std::condition_variable_any freed_;
  std::set<unsigned> free_;
};

}  // namespace polybox::exec
