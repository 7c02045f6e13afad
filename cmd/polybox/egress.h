// The network of guests, as the settings ask for it, and what is counted of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "config/settings.h"
#include "exec/guest_egress.h"
#include "jail/grade.h"
#include "net/egress_ledger.h"
#include "obs/metrics.h"

namespace polybox::cmd {

/// A variable of our own environment; "" when it is not set.
std::string Variable(const std::string& name);

/// Null when the setting names nobody. An error, with a fix, when guests of this grade can be given
/// no network of their own, or the environment names a proxy that is none.
Result<std::unique_ptr<exec::GuestEgress>> GuestEgressFor(
    const config::Settings& settings, jail::Grade grade, std::shared_ptr<net::EgressLedger> ledger);

/// Shows on /metrics what stands in the ledgers.
void ShowEgress(obs::Metrics& metrics,
                const std::vector<std::shared_ptr<net::EgressLedger>>& ledgers);

}  // namespace polybox::cmd
