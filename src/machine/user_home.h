// The user for whom a workspace is served: where the package caches and the git configuration of
// that user are. The functions read the host's file system. Any thread.
#pragma once

#include <string>

#include "languages/language.h"
#include "workspace/act_as_owner.h"

namespace polybox::machine {

/// Returns the home of the owner of a workspace if polybox runs as root for another user who has
/// one. Otherwise returns the home of polybox's own user; "" if there is none.
std::string UserHome(const workspace::Owner& owner);

/// Returns the directory of a package cache on this host without links; "" if there is none.
std::string FindCache(const languages::PackageCache& cache, const std::string& user_home);

/// Returns a configuration for git with the name and the address of the user whose home it is; ""
/// if git does not know them.
std::string GitConfigOf(const std::string& user_home);

}  // namespace polybox::machine
