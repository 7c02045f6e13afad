// The network of workspaces' jails. Each lease has an egress proxy, which is the only way out. The
// proxy reaches the hosts of the setting `workspace-egress`, and no host if the list is empty. Its
// refusals name the setting. Network is made once for a server. Any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "jail/lease.h"
#include "languages/language.h"
#include "launch/jail_home.h"
#include "machine/identity.h"
#include "machine/violation.h"
#include "net/egress_ledger.h"
#include "net/egress_policy.h"
#include "net/egress_proxy.h"
#include "net/name_resolver.h"
#include "net/upstream.h"
#include "registries/client.h"
#include "registries/learned_hosts.h"
#include "registries/registries.h"
#include "workspace/workspace.h"

namespace polybox::machine {

/// The entry of the list that stands for the package registries of the clients on this host.
inline constexpr const char* kRegistries = "registries";

struct NetworkOptions {
  /// kRegistries, or hosts in the notation of net/egress_policy.h.
  std::vector<std::string> hosts;
  /// The setting's name, for messages about refused connections.
  std::string setting = "workspace-egress";
  /// Returns the clients of package registries on this host. Called once, when the first lease of a
  /// workspace is made. What the result refers to must outlive the Network.
  std::function<std::vector<registries::Client>()> clients;
  /// The file that keeps what trial downloads have learned; "" keeps nothing.
  std::string learned_file;
  /// Directories to search for programs, in the format of $PATH.
  std::string path;
  /// Returns a variable of this process's environment; "" if it is not set.
  std::function<std::string(const std::string&)> variable;
  /// Resolves host names; null for getaddrinfo(). Tests set it.
  net::NameResolver::Lookup lookup = nullptr;
  std::shared_ptr<net::EgressLedger> ledger;
};

class Network {
 public:
  /// An error names what is wrong in the list of hosts, or in the variable that names a company's
  /// proxy.
  static Result<std::unique_ptr<Network>> Make(NetworkOptions options, const log::Logger& log);

 private:
  friend class MachineNetwork;

  Network(NetworkOptions options, const log::Logger& log);
  const std::vector<registries::Client>& Clients();

  const NetworkOptions options_;
  const log::Logger log_;
  /// The entries of the list except kRegistries.
  net::EgressPolicy policy_;
  bool opens_registries_ = false;
  net::Upstream upstream_;
  /// One resolver for all proxies, because the number of names that are resolved at once must be
  /// limited for the whole machine.
  std::shared_ptr<net::NameResolver> resolver_;
  registries::LearnedHosts learned_;
  std::once_flag found_;
  /// Set once.
  std::vector<registries::Client> clients_;
};

/// The network of one machine. The machine's mutex guards all calls except TakeViolations() and
/// Notes(), which are for any thread.
class MachineNetwork {
 public:
  struct Options {
    const workspace::Workspace* workspace = nullptr;
    /// For trial downloads.
    const launch::JailHome* home = nullptr;
    /// Distinguishes the slot of a trial download from the others of this process.
    unsigned trial_slot = 0;
  };

  /// `network` and what the options name must outlive the object.
  MachineNetwork(Network& network, const Options& options);

  /// Adds the proxy and what clients of registries need to the spec of a lease. The owner of a file
  /// that a variable names can read the file as a command of this identity. Asks the clients when
  /// it is called first, which takes as long as the slowest answers.
  void Show(jail::Spec& spec, Identity identity);
  /// Adds the variables that commands need to use the network. After Show().
  void AddVariables(std::map<std::string, std::string>& env) const;
  /// Starts the proxy of a new lease and ends that of the last one. Puts configuration files of
  /// registry clients into `home`, the home directory of commands; a file that commands have
  /// changed stays as it is.
  Status Serve(jail::Lease& lease, const std::string& home);

  /// Ends the proxy, after its lease.
  void Stop();

  /// Returns the connections that were refused since the last call.
  std::vector<Violation> TakeViolations();
  std::vector<std::string> Notes() const;

 private:
  void AskClients();
  /// Adds the files of the clients, and sets `passed_`.
  void ShowClients(jail::Spec& spec, Identity identity);
  Status PutFiles(jail::Lease& lease, const std::string& home) const;

  Network& network_;
  const Options options_;
  /// The variables of clients, by the language files.
  languages::Env passed_;
  /// Held while one of the members below changes, and by the calls of any thread.
  mutable std::mutex mutex_;
  /// Null until Show().
  std::shared_ptr<registries::Registries> registries_;
  std::unique_ptr<net::EgressProxy> proxy_;
  std::vector<std::string> notes_;
};

}  // namespace polybox::machine
