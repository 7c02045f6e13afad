// Finds out which hosts a client of a package registry uses, by a trial download of one small
// package. The client runs in a jail whose egress proxy records the hosts. Only the client and the
// user's configuration decide about them: no file of a workspace and no code of a package is there.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/jail_home.h"
#include "net/egress_ledger.h"
#include "net/name_resolver.h"
#include "net/upstream.h"
#include "registries/client.h"

namespace polybox::registries {

struct TrialOptions {
  /// Must outlive the trial.
  const launch::JailHome* home = nullptr;
  /// Distinguishes the slot from the others of this process.
  unsigned number = 0;
  net::Upstream upstream;
  std::shared_ptr<net::NameResolver> resolver;
  std::shared_ptr<net::EgressLedger> ledger;
  /// Directories to search for programs, in the format of $PATH.
  std::string path;
  /// Returns a variable of this process's environment; "" if it is not set.
  std::function<std::string(const std::string&)> variable;
};

/// Runs the command `trial` of the language file with the files of `answer` in its home directory.
/// Returns the hosts that it used. The hosts of `answer` may have any address, others only public
/// ones. Blocks; the slot ends with the call. An error says why the trial failed.
Result<std::vector<net::HostPort>> TryDownload(const Client& client, const ClientAnswer& answer,
                                               const TrialOptions& options,
                                               const std::stop_token& stop);

}  // namespace polybox::registries
