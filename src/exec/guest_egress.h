// The network of guests, if an operator has listed hosts that guests may reach. Each session of a
// slot gets its own egress proxy, which ends with the session. Used by the slot pool. Any thread.
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
    /// The hosts that guests may reach, in the notation of net/egress_policy.h; never empty.
    std::vector<std::string> hosts;
    /// The name of the setting that lists the hosts, for messages about refused connections.
    std::string setting = "guest-egress";
    /// Returns a variable of the server's environment, "" if it is not set. Used to find a
    /// company's proxy.
    std::function<std::string(const std::string&)> variable;
    /// Resolves host names; null for getaddrinfo(). Tests set it.
    net::NameResolver::Lookup lookup = nullptr;
  };

  /// Checks the list of hosts. An error names what is wrong in it.
  static Result<GuestEgress> Make(const Options& options,
                                  std::shared_ptr<net::EgressLedger> ledger);

  /// Starts a proxy for the slot's next session. It refuses all connections until
  /// EgressProxy::Open() is called. Returns null when the slot has no network.
  Result<std::unique_ptr<net::EgressProxy>> Serve(jail::Slot& slot) const;

 private:
  GuestEgress() = default;

  net::EgressPolicy policy_;
  net::Upstream upstream_;
  /// One resolver for all proxies, because the number of names that are resolved at once must be
  /// limited for the whole machine.
  std::shared_ptr<net::NameResolver> resolver_;
  std::shared_ptr<net::EgressLedger> ledger_;
};

}  // namespace polybox::exec
