// Finds out on this host which user the commands of a workspace are. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "jail/spec.h"
#include "launch/jail_home.h"
#include "machine/identity.h"
#include "workspace/workspace.h"

namespace polybox::machine {

/// Returns the identity of commands in jails of `home`; tries out what the file system allows.
Result<Identity> FindIdentity(const workspace::Workspace& workspace, const launch::JailHome& home,
                              AsRoot as_root);

/// Returns why the file system of `path` cannot be id-mapped; "" if it can. Needs root.
std::string WhyUnmapped(const std::string& path);

/// How commands see the files of one user of the host.
struct Ownership {
  /// The user on disk whose files an id-mapped mount must show as those of the commands; nothing if
  /// no map is needed, or if the file system allows none.
  std::optional<jail::HostIds> mapped = {};
  /// Why the files do not belong to the commands: a part of a sentence. "" if they do.
  std::string foreign = {};
};

/// Returns how commands of a workspace see the files of the user who owns `path`, who can be
/// another user than `owner`, the owner of the workspace.
Ownership OwnershipOf(const std::string& path, Identity identity, const workspace::Owner& owner);

/// Returns a part of a sentence, such as "run as the owner, without capabilities".
std::string_view DescribeIdentity(Identity identity);

}  // namespace polybox::machine
