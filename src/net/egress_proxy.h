// The only way out of a jail: an HTTP proxy that knows CONNECT and nothing else. It listens on a
// socket that lives in the jail's network namespace, resolves names itself, and connects only to
// what its policy allows: to the very address that was checked, so a name that changes its mind
// changes nothing. With an upstream proxy (upstream.h) only the name can be checked: where it leads
// is then the upstream's business.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "net/egress_ledger.h"
#include "net/egress_policy.h"
#include "net/name_resolver.h"
#include "net/upstream.h"

namespace polybox::net {

struct EgressLimits {
  /// At once; more wait to be accepted.
  int connections = 32;
  /// New ones; more wait too. What they cost is our processor time, not the jail's.
  int per_second = 100;
  /// For the request, for resolving and connecting together, and for a tunnel in which nothing
  /// moves.
  Duration request_time = std::chrono::seconds(10);
  Duration connect_time = std::chrono::seconds(15);
  Duration idle_time = std::chrono::seconds(60);
  Bytes header = Bytes::KiB(8);
  /// Through all tunnels, both ways; past it they end, and there are no others.
  Bytes traffic = Bytes::MiB(4096);
};

class EgressProxy {
 public:
  enum class Door { kOpen, kClosed };

  struct Options {
    EgressPolicy policy;
    Upstream upstream = {};
    EgressLimits limits = {};
    /// Refuses all until Open().
    Door door = Door::kOpen;
    /// Null: one of its own.
    std::shared_ptr<NameResolver> resolver = nullptr;
  };

  /// Serves what is accepted on `listener`, on threads of its own, until it is destroyed. `ledger`
  /// is never null.
  static Result<std::unique_ptr<EgressProxy>> Start(UniqueFd listener, Options options,
                                                    std::shared_ptr<EgressLedger> ledger);
  EgressProxy(const EgressProxy&) = delete;
  EgressProxy& operator=(const EgressProxy&) = delete;
  /// Ends all tunnels, at once.
  ~EgressProxy();

  /// Whoever came before, and whoever waits to be accepted now, stays refused.
  void Open();
  /// Refuses all again. True when nobody has come so far: then there is no tunnel to end.
  bool Close();

  /// The first few, each once.
  std::vector<Refused> refused() const;

 private:
  struct State;

  explicit EgressProxy(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

/// What a refusal says, with the setting that would allow it.
std::string Explain(const Refused& refused, const std::string& setting);

}  // namespace polybox::net
