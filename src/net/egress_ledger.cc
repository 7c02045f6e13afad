#include "net/egress_ledger.h"

#include <fmt/format.h>

namespace polybox::net {
namespace {

// Enough to see which hosts are missing on a list. There must be a limit, because a guest can ask
// for any number.
constexpr std::size_t kMostHosts = 16;
// A DNS name has at most 253 bytes.
constexpr std::size_t kLongestHost = 256;
constexpr auto kMinute = std::chrono::minutes(1);

}  // namespace

std::string_view NameOf(EgressOutcome outcome) {
  switch (outcome) {
    case EgressOutcome::kOpened:
      return "opened";
    case EgressOutcome::kNotListed:
      return "not_listed";
    case EgressOutcome::kNotPublic:
      return "not_public";
    case EgressOutcome::kNotYet:
      return "not_yet";
    case EgressOutcome::kOverTraffic:
      return "over_traffic";
    case EgressOutcome::kNotConnect:
      return "not_connect";
    case EgressOutcome::kMalformed:
      return "malformed";
    case EgressOutcome::kUnreachable:
      return "unreachable";
  }
  return "malformed";
}

std::uint64_t EgressCounters::refused() const {
  std::uint64_t all = 0;
  for (const std::uint64_t count : requests) all += count;
  return all - (*this)[EgressOutcome::kOpened] - (*this)[EgressOutcome::kUnreachable];
}

EgressLedger::EgressLedger(std::string who, const log::Logger& log, const Clock& clock)
    : who_(std::move(who)), log_(log), clock_(clock), minute_(clock.Now()) {}

void EgressLedger::Count(EgressOutcome outcome) {
  const std::lock_guard lock(mutex_);
  ++counters_[outcome];
}

void EgressLedger::CountBytes(std::uint64_t out, std::uint64_t in) {
  const std::lock_guard lock(mutex_);
  counters_.bytes_out += out;
  counters_.bytes_in += in;
}

EgressCounters EgressLedger::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

void EgressLedger::BeginMinute() {
  if (left_out_ > 0) {
    log_.Warn("refused more hosts to jails than the log names",
              {{"who", who_}, {"left_out", left_out_}});
  }
  minute_ = clock_.Now();
  noted_.clear();
  left_out_ = 0;
}

void EgressLedger::Note(const Refused& refused) {
  const std::lock_guard lock(mutex_);
  if (clock_.Now() - minute_ >= kMinute) BeginMinute();
  const std::string host = refused.host.Escaped(kLongestHost);
  const std::string name = fmt::format("{}:{}", host, refused.port);
  if (noted_.contains(name)) return;
  if (noted_.size() >= kMostHosts) {
    ++left_out_;
    return;
  }
  noted_.insert(name);
  const log::Logger log =
      refused.address.empty() ? log_ : log_.With({{"address", refused.address}});
  log.Warn("refused a host to a jail",
           {{"who", who_}, {"host", host}, {"port", refused.port}, {"why", refused.why}});
}

}  // namespace polybox::net
