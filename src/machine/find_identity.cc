#include "machine/find_identity.h"

#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "jail/owner_map.h"

namespace polybox::machine {

std::string WhyUnmapped(const std::string& path) {
  const Status checked = jail::CheckOwnerMap(path);
  if (checked.ok()) return "";
  return fmt::format("its file system cannot be id-mapped ({})", checked.error().message());
}

Result<Identity> FindIdentity(const workspace::Workspace& workspace, const launch::JailHome& home,
                              AsRoot as_root) {
  IdentityFacts facts = {.is_root = ::geteuid() == 0,
                         .own_uids = home.uids() == jail::Uids::kOwn,
                         .has_namespaces = jail::HasNamespaces(home.grade()),
                         .owner = workspace.owner(),
                         .as_root = as_root};
  if (facts.is_root && facts.own_uids && facts.has_namespaces) {
    facts.unmapped = WhyUnmapped(workspace.path());
  }
  return ChooseIdentity(facts);
}

Ownership OwnershipOf(const std::string& path, Identity identity, const workspace::Owner& owner) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return {.foreign = "its owner cannot be found"};
  if (identity == Identity::kMapped) {
    std::string why = WhyUnmapped(path);
    if (!why.empty()) return {.foreign = std::move(why)};
    return {.mapped = jail::HostIds{info.st_uid, info.st_gid}};
  }
  const uid_t user = identity == Identity::kOwner ? owner.uid : ::geteuid();
  if (info.st_uid == user) return {};
  return {.foreign =
              fmt::format("it belongs to user {}, and commands are user {}", info.st_uid, user)};
}

std::string_view DescribeIdentity(Identity identity) {
  switch (identity) {
    case Identity::kServer:
      return "run as the user who started polybox, without capabilities";
    case Identity::kMapped:
      return "run with a uid of their own; an id-mapped mount gives their files to the owner";
    case Identity::kOwner:
      return "run as the owner, without capabilities: out of the jail, they could do what the "
             "owner "
             "can";
  }
  return "";
}

}  // namespace polybox::machine
