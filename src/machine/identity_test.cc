// Which user of the host commands are, for every combination of facts.
#include "machine/identity.h"

#include <gtest/gtest.h>

namespace polybox::machine {
namespace {

constexpr workspace::Owner kRoot = {0, 0};
constexpr workspace::Owner kUser = {1000, 1000};
constexpr const char* kUnmapped = "its file system cannot be id-mapped (x)";

/// Returns the identity as a word, or the message of the refusal.
std::string Chosen(const IdentityFacts& facts) {
  const Result<Identity> identity = ChooseIdentity(facts);
  if (!identity.ok()) return identity.error().message();
  switch (*identity) {
    case Identity::kServer:
      return "server";
    case Identity::kMapped:
      return "mapped";
    case Identity::kOwner:
      return "owner";
  }
  return "?";
}

TEST(Identity, FollowsFromRootUidsNamespacesOwnerAndFileSystem) {
  const std::string refused =
      "commands would run as root of the host: the workspace belongs to root";
  struct Case {
    IdentityFacts facts;
    std::string chosen;
  };
  const Case cases[] = {
      {{.is_root = false, .owner = kUser}, "server"},
      {{.is_root = false, .owner = kRoot}, "server"},
      {{.is_root = true, .own_uids = true, .has_namespaces = true, .owner = kUser}, "mapped"},
      {{.is_root = true, .own_uids = true, .has_namespaces = true, .owner = kRoot}, "mapped"},
      {{.is_root = true,
        .own_uids = true,
        .has_namespaces = true,
        .owner = kUser,
        .unmapped = kUnmapped},
       "owner"},
      {{.is_root = true,
        .own_uids = true,
        .has_namespaces = true,
        .owner = kRoot,
        .unmapped = kUnmapped},
       refused + ", and " + kUnmapped},
      {{.is_root = true,
        .own_uids = true,
        .has_namespaces = true,
        .owner = kRoot,
        .unmapped = kUnmapped,
        .as_root = AsRoot::kAllow},
       "owner"},
      {{.is_root = true, .own_uids = true, .owner = kUser}, "owner"},
      {{.is_root = true, .own_uids = true, .owner = kRoot}, refused},
      {{.is_root = true, .own_uids = true, .owner = kRoot, .as_root = AsRoot::kAllow}, "owner"},
      {{.is_root = true, .has_namespaces = true, .owner = kRoot}, refused},
      {{.is_root = true, .owner = kRoot, .as_root = AsRoot::kAllow}, "server"},
      {{.is_root = true, .has_namespaces = true, .owner = kUser},
       "commands cannot have the owner's uid 1000: root lacks the rights to change its uid here"},
  };
  for (const Case& one : cases) EXPECT_EQ(Chosen(one.facts), one.chosen);
}

TEST(Identity, ARefusalNamesTheSettingAndTheOtherWayOut) {
  const auto refused = ChooseIdentity({.is_root = true, .own_uids = true, .owner = kRoot});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().fix(),
            "give the workspace to another user (chown -R), or allow it with --workspace-as-root");
}

}  // namespace
}  // namespace polybox::machine
