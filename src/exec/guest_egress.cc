#include "exec/guest_egress.h"

namespace polybox::exec {
namespace {

// The number of connections of one guest. Each uses a thread of the server, and few programs open
// more at once.
constexpr int kConnections = 16;

}  // namespace

Result<GuestEgress> GuestEgress::Make(const Options& options,
                                      std::shared_ptr<net::EgressLedger> ledger) {
  GuestEgress egress;
  POLYBOX_ASSIGN_OR_RETURN(egress.policy_,
                           net::EgressPolicy::Make(options.hosts, options.setting,
                                                   net::EgressPolicy::Inside::kNamedThemselves));
  POLYBOX_ASSIGN_OR_RETURN(egress.upstream_, net::Upstream::FromEnvironment(options.variable));
  egress.resolver_ = options.lookup ? std::make_shared<net::NameResolver>(options.lookup)
                                    : std::make_shared<net::NameResolver>();
  egress.ledger_ = std::move(ledger);
  return egress;
}

Result<std::unique_ptr<net::EgressProxy>> GuestEgress::Serve(jail::Slot& slot) const {
  UniqueFd listener = slot.TakeEgress();
  if (!listener.valid()) return std::unique_ptr<net::EgressProxy>();
  net::EgressProxy::Options options;
  options.policy = policy_;
  options.upstream = upstream_;
  options.limits.connections = kConnections;
  options.door = net::EgressProxy::Door::kClosed;
  options.resolver = resolver_;
  return net::EgressProxy::Start(std::move(listener), std::move(options), ledger_);
}

}  // namespace polybox::exec
