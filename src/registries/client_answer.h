// Parses what a language file's command `ask` prints about the clients of package registries: which
// registries they use, and configuration files for the jail. Pure functions.
//
//   registry WORD...   each https or http URL in the words is a registry
//   file PATH          begins a file; PATH is relative to the home directory
//   | LINE             a line of this file
//
// Other lines are ignored, because clients print warnings among their answers.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "net/address.h"

namespace polybox::registries {

struct ClientAnswer {
  /// The hosts of the registries, each once.
  std::vector<net::HostPort> hosts;
  /// Contents by path below the home directory.
  std::map<std::string, std::string> files;

  bool operator==(const ClientAnswer&) const = default;
};

/// Credentials in URLs are left out everywhere. A file whose path leaves the home directory is left
/// out too.
ClientAnswer ParseClientAnswer(std::string_view text);

/// Returns the hosts of all https and http URLs in the text, each once.
std::vector<net::HostPort> HostsIn(std::string_view text);

/// Returns the text without the credentials of its URLs: https://user:secret@host becomes
/// https://host.
std::string WithoutCredentials(std::string_view text);

}  // namespace polybox::registries
