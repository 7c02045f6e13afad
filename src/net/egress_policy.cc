#include "net/egress_policy.h"

#include <algorithm>

#include <fmt/format.h>

#include "net/own_addresses.h"

namespace polybox::net {

std::string ComplaintAboutEntry(const std::string& entry) {
  const Result<EgressPolicy> policy = EgressPolicy::Make({entry}, "");
  return policy.ok() ? "" : policy.error().message();
}

Result<EgressPolicy> EgressPolicy::Make(const std::vector<std::string>& entries,
                                        std::string setting, Inside inside) {
  EgressPolicy policy;
  policy.inside_ = inside;
  policy.setting_ = std::move(setting);
  for (const std::string& entry : entries) {
    if (entry == kPublicHosts) {
      policy.rules_.push_back({});
      continue;
    }
    const bool is_suffix = entry.starts_with("*.");
    const auto parsed = ParseHostPort(is_suffix ? entry.substr(2) : entry, 443);
    if (!parsed || (is_suffix && parsed->is_address)) {
      return Error(ErrorKind::kInvalid,
                   fmt::format("expected {}, example.org, *.example.org, 192.0.2.1 or "
                               "[2001:db8::1], each with or without :PORT",
                               kPublicHosts));
    }
    policy.rules_.push_back({(is_suffix ? "." : "") + parsed->host, parsed->port, is_suffix});
  }
  return policy;
}

bool EgressPolicy::Rule::IsFor(const HostPort& target) const {
  if (port != target.port || host.empty()) return false;
  return is_suffix ? !target.is_address && target.host.ends_with(host) : target.host == host;
}

bool EgressPolicy::Names(const HostPort& target) const {
  return std::ranges::any_of(rules_, [&](const Rule& rule) { return rule.IsFor(target); });
}

EgressPolicy::Reach EgressPolicy::ForHost(const HostPort& target) const {
  Reach best = Reach::kNowhere;
  for (const Rule& rule : rules_) {
    const bool is_public = rule.host.empty() && rule.port == target.port;
    if (!is_public && !rule.IsFor(target)) continue;
    const bool in_full = !is_public && !rule.is_suffix;
    if (in_full && (target.is_address || inside_ == Inside::kOfNamedHosts)) {
      return Reach::kAnyAddress;
    }
    best = Reach::kPublicAddress;
  }
  return best;
}

bool EgressPolicy::Allows(Reach reach, const Address& address, std::uint16_t port) const {
  if (reach == Reach::kAnyAddress) return true;
  if (reach == Reach::kNowhere) return false;
  if (IsPublic(address) && !IsOwn(address)) return true;
  return ForHost({ToText(address), port, true}) == Reach::kAnyAddress;
}

}  // namespace polybox::net
