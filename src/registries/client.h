// A client of package registries on this host, and how to ask it which registries it uses. The
// functions run programs of the host and block. Any thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "languages/language.h"
#include "languages/toolchain.h"
#include "registries/client_answer.h"

namespace polybox::registries {

/// The clients of one language. The language must have the table [registry]. Both must outlive it.
struct Client {
  const languages::Language& language;
  const languages::Toolchain& toolchain;

  const languages::RegistryClients& settings() const { return *language.registry; }
};

/// Returns the languages that have registry clients on this host. `path` has the format of $PATH.
/// The arguments must outlive the result.
std::vector<Client> ClientsOn(const std::vector<languages::Language>& languages,
                              const languages::Toolchains& toolchains, const std::string& path);

/// The user whose configuration of the clients counts.
struct ClientUser {
  /// The ids that asking programs get; absent: those of this process.
  std::optional<std::pair<uid_t, gid_t>> ids;
  /// The home directory with the user's configuration.
  std::string home;
  /// Whether the asking programs get all variables of this process. Otherwise they get PATH, HOME
  /// and the variables that the language file passes on.
  bool inherits_variables = false;
};

/// Returns the user for a workspace with this owner. A server that runs as root takes the owner,
/// any other server its own user. If the home directory is in the workspace, its files count for
/// nothing, because commands of the workspace can write them.
ClientUser UserFor(uid_t owner, gid_t group, const std::string& workspace);

struct AskOptions {
  ClientUser user;
  /// Directories to search for programs, in the format of $PATH.
  std::string path;
  /// Returns a variable of this process's environment; "" if it is not set.
  std::function<std::string(const std::string&)> variable;
};

/// Runs the command `ask` of the language file in the root directory, where no file of a workspace
/// has an influence. An error says why there is no answer.
Result<ClientAnswer> Ask(const Client& client, const AskOptions& options);

}  // namespace polybox::registries
