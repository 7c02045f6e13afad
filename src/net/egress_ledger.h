// What the egress proxies of one kind of jail did together: figures for /metrics, and lines in the
// log, of which no guest can make many. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"

namespace polybox::net {

/// How a request to a proxy ended.
enum class EgressOutcome {
  kOpened,       ///< There was a tunnel.
  kNotListed,    ///< The policy does not know the host.
  kNotPublic,    ///< Its address is one that the policy does not give.
  kNotYet,       ///< It came before its jail may reach anyone.
  kOverTraffic,  ///< Its proxy has moved all that it may.
  kNotConnect,   ///< It was no CONNECT.
  kMalformed,    ///< It named no host and port.
  kUnreachable,  ///< It was allowed, and the host does not answer.
};
inline constexpr std::array kEgressOutcomes = {
    EgressOutcome::kOpened,    EgressOutcome::kNotListed,   EgressOutcome::kNotPublic,
    EgressOutcome::kNotYet,    EgressOutcome::kOverTraffic, EgressOutcome::kNotConnect,
    EgressOutcome::kMalformed, EgressOutcome::kUnreachable,
};
/// "opened", "not_listed", ...
std::string_view NameOf(EgressOutcome outcome);

struct EgressCounters {
  /// In the order of kEgressOutcomes.
  std::array<std::uint64_t, kEgressOutcomes.size()> requests{};
  std::uint64_t bytes_out = 0;
  std::uint64_t bytes_in = 0;

  std::uint64_t& operator[](EgressOutcome outcome) {
    return requests[static_cast<std::size_t>(outcome)];
  }
  std::uint64_t operator[](EgressOutcome outcome) const {
    return requests[static_cast<std::size_t>(outcome)];
  }
  /// All that were neither opened nor unreachable.
  std::uint64_t refused() const;
};

/// A host that was asked for and not given.
struct Refused {
  std::string host;
  std::uint16_t port = 0;
  std::string why;
  /// The address that would have to be on the list, where the host is. Only for the log: what names
  /// mean inside is not for guests to know.
  std::string address = {};
};

class EgressLedger {
 public:
  /// `who` is "installer" or "guest". `clock` must outlive it.
  EgressLedger(std::string who, const log::Logger& log, const Clock& clock = Clock::System());

  void Count(EgressOutcome outcome);
  void CountBytes(std::uint64_t out, std::uint64_t in);
  /// Logs it: each host once a minute, and a few of them. How many more there were is said with the
  /// first line of a later minute.
  void Note(const Refused& refused);

  const std::string& who() const { return who_; }
  EgressCounters counters() const;

 private:
  void BeginMinute();

  const std::string who_;
  const log::Logger log_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  EgressCounters counters_;
  std::chrono::steady_clock::time_point minute_{};
  std::set<std::string> noted_;
  std::uint64_t left_out_ = 0;
};

}  // namespace polybox::net
