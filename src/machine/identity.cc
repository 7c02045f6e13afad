#include "machine/identity.h"

#include <fmt/format.h>

namespace polybox::machine {
namespace {

Error Refusal(const IdentityFacts& facts) {
  const std::string why = facts.unmapped.empty() ? "" : fmt::format(", and {}", facts.unmapped);
  return Error(ErrorKind::kUnavailable,
               fmt::format(
                   "commands would run as root of the host: the workspace belongs to root{}", why))
      .WithFix(
          "give the workspace to another user (chown -R), or allow it with --workspace-as-root");
}

}  // namespace

Result<Identity> ChooseIdentity(const IdentityFacts& facts) {
  if (!facts.is_root) return Identity::kServer;
  const bool allowed = facts.owner.uid != 0 || facts.as_root == AsRoot::kAllow;
  if (!facts.own_uids) {
    if (facts.owner.uid != 0) {
      return Error(ErrorKind::kUnavailable,
                   fmt::format("commands cannot have the owner's uid {}: root lacks the rights to "
                               "change its uid here",
                               facts.owner.uid))
          .WithFix(
              "start polybox as the owner of the workspace, or give it CAP_SETUID, CAP_SETGID, "
              "CAP_CHOWN, CAP_KILL and CAP_DAC_OVERRIDE");
    }
    if (!allowed) return Refusal(facts);
    return Identity::kServer;
  }
  if (facts.has_namespaces && facts.unmapped.empty()) return Identity::kMapped;
  if (!allowed) return Refusal(facts);
  return Identity::kOwner;
}

}  // namespace polybox::machine
