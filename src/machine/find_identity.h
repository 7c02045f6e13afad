// Finds out on this host which user the commands of a workspace are. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "launch/jail_home.h"
#include "machine/identity.h"
#include "workspace/workspace.h"

namespace polybox::machine {

/// Returns the identity of commands in jails of `home`; tries out what the file system allows.
Result<Identity> FindIdentity(const workspace::Workspace& workspace, const launch::JailHome& home,
                              AsRoot as_root);

/// Returns why the file system of `path` cannot be id-mapped; "" if it can. Needs root.
std::string WhyUnmapped(const std::string& path);

/// Returns a part of a sentence, such as "run as the owner, without capabilities".
std::string_view DescribeIdentity(Identity identity);

}  // namespace polybox::machine
