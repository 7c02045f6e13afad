#include "packages/package_source.h"

#include "packages/jail_installer.h"
#include "packages/package_store.h"

namespace polybox::packages {
namespace {

class JailPackageSource : public PackageSource {
 public:
  JailPackageSource(const launch::JailHome& home, JailInstallerOptions options,
                    std::shared_ptr<net::EgressLedger> ledger)
      : installer_(home, std::move(options), std::move(ledger)) {}

  Status Open(PackageStoreOptions options, const log::Logger& log) {
    POLYBOX_ASSIGN_OR_RETURN(store_, PackageStore::Open(std::move(options), installer_, log));
    return {};
  }

  Result<PackageSet> Get(const launch::Installation& installation,
                         const std::vector<std::string>& requirements,
                         const PackageTerms& terms) override {
    POLYBOX_ASSIGN_OR_RETURN(Provision provision,
                             store_->Provide(installation, requirements,
                                             {.time = terms.time,
                                              .time_name = terms.time_name,
                                              .cancel = terms.cancel,
                                              .on_install = terms.on_install}));
    if (provision.failure) return Error(ErrorKind::kUnavailable, *provision.failure);
    auto lease = std::make_shared<PackageLease>(std::move(provision.lease));
    // No set was requested, so the program gets the preinstalled packages.
    if (lease->path().empty()) return PackageSet{installation.packages, nullptr};
    return PackageSet{lease->path(), lease};
  }

 private:
  JailInstaller installer_;
  std::unique_ptr<PackageStore> store_;
};

Result<JailInstallerOptions> InstallerOptions(const PackageSourceOptions& options) {
  JailInstallerOptions installing;
  POLYBOX_ASSIGN_OR_RETURN(installing.policy,
                           net::EgressPolicy::Make(options.egress_allow, options.egress_setting));
  POLYBOX_ASSIGN_OR_RETURN(installing.upstream, net::Upstream::FromEnvironment(options.variable));
  installing.indexes = options.indexes;
  std::erase_if(installing.indexes, [](const auto& index) { return index.second.empty(); });
  installing.scripts = options.scripts;
  installing.path = options.variable("PATH");
  installing.variable = options.variable;
  return installing;
}

std::shared_ptr<net::EgressLedger> LedgerOf(const PackageSourceOptions& options,
                                            const log::Logger& log) {
  return options.ledger ? options.ledger : std::make_shared<net::EgressLedger>("installer", log);
}

}  // namespace

Result<std::unique_ptr<Installer>> MakeJailInstaller(const launch::JailHome& home,
                                                     const PackageSourceOptions& options,
                                                     const log::Logger& log) {
  POLYBOX_ASSIGN_OR_RETURN(JailInstallerOptions installing, InstallerOptions(options));
  return std::unique_ptr<Installer>(
      std::make_unique<JailInstaller>(home, std::move(installing), LedgerOf(options, log)));
}

Result<std::unique_ptr<PackageSource>> MakePackageSource(const launch::JailHome& home,
                                                         PackageSourceOptions options,
                                                         const log::Logger& log) {
  POLYBOX_ASSIGN_OR_RETURN(JailInstallerOptions installing, InstallerOptions(options));
  auto source =
      std::make_unique<JailPackageSource>(home, std::move(installing), LedgerOf(options, log));
  POLYBOX_RETURN_IF_ERROR(
      source->Open({.directory = std::move(options.directory), .size = options.size}, log));
  return std::unique_ptr<PackageSource>(std::move(source));
}

}  // namespace polybox::packages
