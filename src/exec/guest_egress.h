// The network that guests get where an operator has named hosts for them: an egress proxy for each
// session of a slot, which ends with it. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "jail/slot.h"
#include "net/egress_ledger.h"
#include "net/egress_policy.h"
#include "net/egress_proxy.h"
#include "net/name_resolver.h"
#include "net/upstream.h"

namespace polybox::exec {

class GuestEgress {
 public:
  struct Options {
    /// Never empty: see net/egress_policy.h.
    std::vector<std::string> hosts;
    /// The setting that they come from, for refusals.
    std::string setting = "guest-egress";
    /// Of our own environment, "" for what is not set: a company's proxy.
    std::function<std::string(const std::string&)> variable;
    /// Null: getaddrinfo().
    net::NameResolver::Lookup lookup = nullptr;
  };

  static Result<GuestEgress> Make(const Options& options,
                                  std::shared_ptr<net::EgressLedger> ledger);

  /// A proxy for the next session of a slot; null when the slot has no network at all. Until it is
  /// opened it refuses everything.
  Result<std::unique_ptr<net::EgressProxy>> Serve(jail::Slot& slot) const;

 private:
  GuestEgress() = default;

  net::EgressPolicy policy_;
  net::Upstream upstream_;
  /// One for all: how many names are looked up at once is a matter of the machine.
  std::shared_ptr<net::NameResolver> resolver_;
  std::shared_ptr<net::EgressLedger> ledger_;
};

}  // namespace polybox::exec
