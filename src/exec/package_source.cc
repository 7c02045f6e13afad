#include "exec/package_source.h"

#include "exec/jail_installer.h"
#include "exec/package_store.h"

namespace polybox::exec {
namespace {

class JailPackageSource : public PackageSource {
 public:
  JailPackageSource(const JailHome& home, JailInstallerOptions options,
                    std::shared_ptr<net::EgressLedger> ledger)
      : installer_(home, std::move(options), std::move(ledger)) {}

  Status Open(PackageStoreOptions options, const log::Logger& log) {
    POLYBOX_ASSIGN_OR_RETURN(store_, PackageStore::Open(std::move(options), installer_, log));
    return {};
  }

  Result<PackageSet> Get(const Installation& installation,
                         const std::vector<std::string>& requirements,
                         const PackageTerms& terms) override {
    POLYBOX_ASSIGN_OR_RETURN(
        Provision provision,
        store_->Provide(installation, requirements, {.time = terms.time, .cancel = terms.cancel}));
    if (provision.failure) return Error(ErrorKind::kUnavailable, *provision.failure);
    auto lease = std::make_shared<PackageLease>(std::move(provision.lease));
    // Nothing was asked for: what is preinstalled is all there is.
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

Result<std::unique_ptr<Installer>> MakeJailInstaller(const JailHome& home,
                                                     const PackageSourceOptions& options,
                                                     const log::Logger& log) {
  POLYBOX_ASSIGN_OR_RETURN(JailInstallerOptions installing, InstallerOptions(options));
  return std::unique_ptr<Installer>(
      std::make_unique<JailInstaller>(home, std::move(installing), LedgerOf(options, log)));
}

Result<std::unique_ptr<PackageSource>> MakePackageSource(const JailHome& home,
                                                         PackageSourceOptions options,
                                                         const log::Logger& log) {
  POLYBOX_ASSIGN_OR_RETURN(JailInstallerOptions installing, InstallerOptions(options));
  auto source =
      std::make_unique<JailPackageSource>(home, std::move(installing), LedgerOf(options, log));
  POLYBOX_RETURN_IF_ERROR(
      source->Open({.directory = std::move(options.directory), .size = options.size}, log));
  return std::unique_ptr<PackageSource>(std::move(source));
}

}  // namespace polybox::exec
