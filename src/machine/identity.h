// Which user of the host the commands of a workspace are, so that what they make belongs to the
// owner of the workspace. A pure function.
#pragma once

#include <string>

#include "base/result.h"
#include "workspace/act_as_owner.h"

namespace polybox::machine {

enum class Identity {
  kServer,  ///< The user who started polybox.
  kMapped,  ///< A uid of the slot's own. An id-mapped mount shows the owner's files as its own.
  kOwner,   ///< The owner, in a user namespace without capabilities, or confined by Landlock.
};

/// Whether commands may have the host's uid 0 where nothing else lets them write (setting
/// `workspace-as-root`).
enum class AsRoot { kRefuse, kAllow };

struct IdentityFacts {
  /// Whether polybox runs as root.
  bool is_root = false;
  /// Whether guests can have other uids than that of polybox.
  bool own_uids = false;
  bool has_namespaces = false;
  workspace::Owner owner = {};
  /// Why the workspace cannot be id-mapped; "" if it can.
  std::string unmapped = {};
  AsRoot as_root = AsRoot::kRefuse;
};

/// Returns the identity of the commands, or an error that names the ways out.
Result<Identity> ChooseIdentity(const IdentityFacts& facts);

}  // namespace polybox::machine
