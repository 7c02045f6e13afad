// The network access of guests by the settings, and its metrics.
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

/// Returns a variable of this process's environment; "" when it is not set.
std::string Variable(const std::string& name);

/// Returns null when the setting names no host. Returns an error with a fix when guests of this
/// grade cannot have a network of their own. An invalid proxy in the environment is an error too.
Result<std::unique_ptr<exec::GuestEgress>> GuestEgressFor(
    const config::Settings& settings, jail::Grade grade, std::shared_ptr<net::EgressLedger> ledger);

/// Adds the counters of the ledgers to /metrics.
void ShowEgress(obs::Metrics& metrics,
                const std::vector<std::shared_ptr<net::EgressLedger>>& ledgers);

}  // namespace polybox::cmd
