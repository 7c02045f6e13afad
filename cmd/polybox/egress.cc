#include "egress.h"

#include <cstdlib>

#include <fmt/format.h>

namespace polybox::cmd {

using Values = std::vector<obs::KeptCounters::Value>;

std::string Variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

Result<std::unique_ptr<exec::GuestEgress>> GuestEgressFor(
    const config::Settings& settings, jail::Grade grade,
    std::shared_ptr<net::EgressLedger> ledger) {
  if (settings.guest_egress.empty()) return std::unique_ptr<exec::GuestEgress>();
  if (!jail::HasNamespaces(grade)) {
    // An error is better than guests that silently have no network, or the host's network.
    return Error(ErrorKind::kInvalid,
                 fmt::format("guest-egress: the isolation grade {} has no network namespaces, so "
                             "guests cannot be given hosts",
                             jail::GradeName(grade)))
        .WithFix("leave guest-egress out, or use a host that gives full or rootless");
  }
  POLYBOX_ASSIGN_OR_RETURN(
      exec::GuestEgress egress,
      exec::GuestEgress::Make({.hosts = settings.guest_egress, .variable = Variable},
                              std::move(ledger)));
  return std::make_unique<exec::GuestEgress>(std::move(egress));
}

void ShowEgress(obs::Metrics& metrics,
                const std::vector<std::shared_ptr<net::EgressLedger>>& ledgers) {
  metrics.AddCounters({{"polybox_egress_requests_total",
                        "Hosts that jails asked their egress proxy for, by what came of it.",
                        {"who", "outcome"}},
                       [ledgers] {
                         Values values;
                         for (const auto& ledger : ledgers) {
                           const net::EgressCounters counters = ledger->counters();
                           for (const net::EgressOutcome outcome : net::kEgressOutcomes) {
                             values.push_back({{ledger->who(), std::string(NameOf(outcome))},
                                               static_cast<double>(counters[outcome])});
                           }
                         }
                         return values;
                       }});
  metrics.AddCounters(
      {{"polybox_egress_bytes_total",
        "Bytes that went through egress proxies.",
        {"who", "direction"}},
       [ledgers] {
         Values values;
         for (const auto& ledger : ledgers) {
           const net::EgressCounters counters = ledger->counters();
           values.push_back({{ledger->who(), "out"}, static_cast<double>(counters.bytes_out)});
           values.push_back({{ledger->who(), "in"}, static_cast<double>(counters.bytes_in)});
         }
         return values;
       }});
}

}  // namespace polybox::cmd
