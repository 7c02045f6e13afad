#include "net/own_addresses.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <linux/if_tun.h>

#include "net/connect.h"
#include "net/egress_policy.h"
#include "net/testing/own_network.h"

namespace polybox::net {
namespace {

/// Makes a network interface "own0" without a peer, which exists as long as the descriptor is open.
UniqueFd MakeInterface() {
  UniqueFd fd(::open("/dev/net/tun", O_RDWR | O_CLOEXEC));
  ifreq request{};
  std::string("own0").copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (!fd.valid() || ::ioctl(fd.get(), TUNSETIFF, &request) != 0) return {};
  return fd;
}

Address Of(const std::string& text) {
  return Resolve({text, 443, true}).at(0);
}

TEST(OwnAddresses, AnAddressOfThisMachineIsNotGivenUnlessItIsListed) {
  if (::geteuid() != 0) GTEST_SKIP() << "a network of one's own needs root";
  if (::access("/dev/net/tun", R_OK | W_OK) != 0) GTEST_SKIP() << "there is no /dev/net/tun";
  ASSERT_TRUE(testing::InOwnNetwork([] {
    const UniqueFd interface = MakeInterface();
    ASSERT_TRUE(interface.valid());
    ASSERT_TRUE(testing::AddV4To("own0", "203.0.113.10"));
    for (const char* own : {"203.0.113.10", "::ffff:203.0.113.10", "64:ff9b::cb00:710a"}) {
      EXPECT_TRUE(IsOwn(Of(own))) << own;
    }
    EXPECT_FALSE(IsOwn(Of("203.0.113.11")));
    EXPECT_FALSE(IsOwn(Of("2001:db8::1")));

    using Reach = EgressPolicy::Reach;
    const auto open = EgressPolicy::Make({"public"}, "egress-allow").value();
    EXPECT_FALSE(open.Allows(Reach::kPublicAddress, Of("203.0.113.10"), 443));
    EXPECT_TRUE(open.Allows(Reach::kPublicAddress, Of("203.0.113.11"), 443));
    const auto listed = EgressPolicy::Make({"public", "203.0.113.10"}, "egress-allow").value();
    EXPECT_TRUE(listed.Allows(Reach::kPublicAddress, Of("203.0.113.10"), 443));
  }));
}

}  // namespace
}  // namespace polybox::net
