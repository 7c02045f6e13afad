// Records what all egress proxies of one kind of jail did: counters for /metrics and a limited
// number of log lines. Any thread may call it.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/guest_bytes.h"
#include "base/log.h"

namespace polybox::net {

/// How a request to a proxy ended.
enum class EgressOutcome {
  kOpened,       ///< A tunnel was opened.
  kNotListed,    ///< No entry of the policy matches the host.
  kNotPublic,    ///< The policy does not allow the host's address, because it is not public.
  kNotYet,       ///< The request came before its jail may use the network.
  kOverTraffic,  ///< The proxy's traffic limit is used up.
  kNotConnect,   ///< The request was not a CONNECT.
  kMalformed,    ///< The request named no valid host and port.
  kUnreachable,  ///< The host was allowed but does not answer.
};
inline constexpr std::array kEgressOutcomes = {
    EgressOutcome::kOpened,    EgressOutcome::kNotListed,   EgressOutcome::kNotPublic,
    EgressOutcome::kNotYet,    EgressOutcome::kOverTraffic, EgressOutcome::kNotConnect,
    EgressOutcome::kMalformed, EgressOutcome::kUnreachable,
};
/// The name of an outcome as a metric label: "opened", "not_listed", ...
std::string_view NameOf(EgressOutcome outcome);

struct EgressCounters {
  /// One counter for each outcome, in the order of kEgressOutcomes.
  std::array<std::uint64_t, kEgressOutcomes.size()> requests{};
  std::uint64_t bytes_out = 0;
  std::uint64_t bytes_in = 0;

  std::uint64_t& operator[](EgressOutcome outcome) {
    return requests[static_cast<std::size_t>(outcome)];
  }
  std::uint64_t operator[](EgressOutcome outcome) const {
    return requests[static_cast<std::size_t>(outcome)];
  }
  /// The sum of all outcomes except kOpened and kUnreachable.
  std::uint64_t refused() const;
};

/// A host that a guest asked for and the proxy refused.
struct Refused {
  /// The host name as the guest wrote it.
  GuestBytes host;
  std::uint16_t port = 0;
  std::string why;
  /// The address of the host, which the operator would have to list. Only for the log: guests must
  /// not learn the addresses of internal names.
  std::string address = {};
};

class EgressLedger {
 public:
  /// `who` is "installer" or "guest": the kind of jail, for logs and metrics. `clock` must outlive
  /// the ledger.
  EgressLedger(std::string who, const log::Logger& log, const Clock& clock = Clock::System());

  void Count(EgressOutcome outcome);
  void CountBytes(std::uint64_t out, std::uint64_t in);
  /// Logs a refused host: each host once a minute, and only a few hosts. The first refusal of a
  /// later minute logs how many were left out.
  void Note(const Refused& refused);

  const std::string& who() const { return who_; }
  EgressCounters counters() const;

 private:
  // Logs how many hosts were left out and starts a new minute. The caller holds mutex_.
  void BeginMinute();

  const std::string who_;
  const log::Logger log_;
  const Clock& clock_;
  // Guards the members below.
  mutable std::mutex mutex_;
  EgressCounters counters_;
  std::chrono::steady_clock::time_point minute_{};
  std::set<std::string> noted_;
  std::uint64_t left_out_ = 0;
};

}  // namespace polybox::net
