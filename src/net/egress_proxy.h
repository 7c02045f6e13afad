// The only network access of a jail: an HTTP proxy that accepts only CONNECT. The proxy listens on
// a socket in the jail's network namespace and resolves names itself. It connects to exactly the
// address that was checked against the policy, so a later DNS change has no effect. With an
// upstream proxy (upstream.h) only the name can be checked, because the upstream proxy resolves it.
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
  /// Simultaneous connections. Further connections wait in the listener's backlog.
  int connections = 32;
  /// New connections per second; further ones wait too. The processor time for a new connection is
  /// charged to the server and not to the jail.
  int per_second = 100;
  /// Time limits for the request head, for resolving and connecting together, and for a tunnel
  /// without traffic.
  Duration request_time = std::chrono::seconds(10);
  Duration connect_time = std::chrono::seconds(15);
  /// How long a request for a host that is not listed waits for EgressProxy::Options::later.
  Duration later_time = std::chrono::seconds(60);
  Duration idle_time = std::chrono::seconds(60);
  Bytes header = Bytes::KiB(8);
  /// The sum of both directions of all tunnels. Above this, all tunnels end and new ones are
  /// refused.
  Bytes traffic = Bytes::MiB(4096);
};

/// Hosts that a jail may reach besides those of its policy, and that become known only while a
/// proxy runs. Any thread.
class LaterHosts {
 public:
  enum class Wait {
    kNo,   ///< Only what is known already counts.
    kYes,  ///< Hosts that are being found out are waited for.
  };

  virtual ~LaterHosts() = default;
  /// Returns the policy that allows `target`; null if no policy does. Returns early when
  /// `patience` ends.
  virtual std::shared_ptr<const EgressPolicy> Find(const HostPort& target, Wait wait,
                                                   const Patience& patience) = 0;
};

class EgressProxy {
 public:
  enum class Door { kOpen, kClosed };

  struct Options {
    EgressPolicy policy;
    Upstream upstream = {};
    EgressLimits limits = {};
    /// A closed proxy refuses every request until Open().
    Door door = Door::kOpen;
    /// Null: the proxy makes a resolver of its own.
    std::shared_ptr<NameResolver> resolver = nullptr;
    /// Asked about hosts that `policy` does not name; null for none.
    std::shared_ptr<LaterHosts> later = nullptr;
  };

  /// Serves the connections to `listener` on threads of its own until the proxy is destroyed.
  /// `ledger` must not be null.
  static Result<std::unique_ptr<EgressProxy>> Start(UniqueFd listener, Options options,
                                                    std::shared_ptr<EgressLedger> ledger);
  EgressProxy(const EgressProxy&) = delete;
  EgressProxy& operator=(const EgressProxy&) = delete;
  /// Ends all tunnels immediately and joins the threads.
  ~EgressProxy();

  /// Accepts requests from now on. A connection that was made earlier stays refused, even if it
  /// still waits in the backlog.
  void Open();
  /// Refuses requests from now on. Returns true when no client has connected so far, so that no
  /// tunnel can exist.
  bool Close();

  /// The first few refused hosts, each once.
  std::vector<Refused> refused() const;
  /// Returns refused() and forgets these hosts.
  std::vector<Refused> TakeRefused();
  /// The first few hosts to which tunnels were opened, each once.
  std::vector<HostPort> opened() const;

 private:
  struct State;

  explicit EgressProxy(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

/// Returns the text about a refused host, which names the setting that would allow the host.
std::string Explain(const Refused& refused, const std::string& setting);

}  // namespace polybox::net
