#include "net/address.h"

#include <cctype>
#include <map>

#include <gtest/gtest.h>

#include "net/connect.h"
#include "net/egress_policy.h"
#include "net/upstream.h"

namespace polybox::net {
namespace {

bool IsPublicText(const std::string& text) {
  const auto addresses = Resolve({text, 443, true});
  EXPECT_EQ(addresses.size(), 1U) << text;
  return !addresses.empty() && IsPublic(addresses[0]);
}

TEST(Address, OnlyThePublicInternetIsPublic) {
  for (const char* text :
       {"1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "172.15.0.1",
        "172.32.0.1", "192.167.0.1", "198.17.0.1", "203.0.113.1", "223.255.255.255", "2606:4700::1",
        "::ffff:1.1.1.1", "64:ff9b::101:101", "2002:0101:0101::1"}) {
    EXPECT_TRUE(IsPublicText(text)) << text;
  }
  for (const char* text : {"0.0.0.0",
                           "0.1.2.3",
                           "10.0.0.1",
                           "100.64.0.1",
                           "100.127.255.255",
                           "127.0.0.1",
                           "127.255.255.255",
                           "168.63.129.16",
                           "::ffff:168.63.129.16",
                           "169.254.169.254",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.0.0.8",
                           "192.168.1.1",
                           "198.18.0.1",
                           "198.19.255.255",
                           "224.0.0.1",
                           "239.1.1.1",
                           "240.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::127.0.0.1",
                           "fe80::1",
                           "fc00::1",
                           "fd12::1",
                           "ff02::1",
                           "::ffff:127.0.0.1",
                           "::ffff:10.0.0.1",
                           "::ffff:169.254.169.254",
                           "64:ff9b::7f00:1",
                           "64:ff9b::a00:1",
                           "2002:7f00:1::1",
                           "2002:a00:1::1",
                           "2001::1",
                           "100::1",
                           "fec0::1"}) {
    EXPECT_FALSE(IsPublicText(text)) << text;
  }
}

TEST(Address, AHostIsTheSameInBothFamilies) {
  const auto same = [](const char* one, const char* other) {
    return IsSameHost(Resolve({one, 443, true}).at(0), Resolve({other, 80, true}).at(0));
  };
  EXPECT_TRUE(same("203.0.113.10", "203.0.113.10"));
  EXPECT_TRUE(same("203.0.113.10", "::ffff:203.0.113.10"));
  EXPECT_TRUE(same("64:ff9b::cb00:710a", "203.0.113.10"));
  EXPECT_TRUE(same("2001:db8::1", "2001:db8:0::1"));
  EXPECT_FALSE(same("203.0.113.10", "203.0.113.11"));
  EXPECT_FALSE(same("2001:db8::1", "2001:db8::2"));
  EXPECT_FALSE(same("2001:db8::1", "203.0.113.10"));
}

TEST(Address, AHostIsANameOrTheUsualSpellingOfAnAddress) {
  const auto shown = [](std::string_view text) -> std::string {
    const auto parsed = ParseHostPort(text);
    if (!parsed) return "refused";
    return parsed->host + " " + std::to_string(parsed->port) +
           (parsed->is_address ? " address" : "");
  };
  EXPECT_EQ(shown("Example.ORG.:443"), "example.org 443");
  EXPECT_EQ(shown("a_b-c.example:8443"), "a_b-c.example 8443");
  EXPECT_EQ(shown("192.0.2.1:443"), "192.0.2.1 443 address");
  EXPECT_EQ(shown("[2001:DB8::1]:443"), "2001:db8::1 443 address");
  EXPECT_EQ(shown("[::ffff:127.0.0.1]:443"), "::ffff:127.0.0.1 443 address");
  EXPECT_EQ(shown("[::ffff:7f00:1]:443"), "::ffff:127.0.0.1 443 address");
  EXPECT_EQ(shown("[fd00:0:0:0:0:0:0:07]:443"), "fd00::7 443 address");
  for (const char* text : {"",
                           ":443",
                           "example.org",
                           "example.org:",
                           "example.org:0",
                           "example.org:65536",
                           "example.org:443x",
                           "example.org:-1",
                           "example.org: 443",
                           "2130706433:443",
                           "0x7f000001:443",
                           "0x7f.1:443",
                           "0177.0.0.1:443",
                           "127.1:443",
                           "127.0.0.1.:80:443",
                           "127.0.0.1..:443",
                           "example.org..:443",
                           "017700000001:443",
                           "1.2.3.4.5:443",
                           "127.0.0.01:443",
                           "2001:db8::1:443",
                           "[::1%lo]:443",
                           "[127.0.0.1]:443",
                           "[::1",
                           "[::1]443",
                           "[]:443",
                           "user@example.org:443",
                           "example.org/:443",
                           "exa mple.org:443",
                           "example..org:443",
                           ".example.org:443",
                           "-x.example.org:443",
                           "example.org#:443",
                           "example.org\t:443",
                           "ex\xc3\xa4mple.org:443",
                           "example.org:443:443"}) {
    EXPECT_EQ(shown(text), "refused") << text;
  }
}

TEST(Address, NoByteOutsideOfNamesAndAddressesPasses) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view text :
       {"203.0.113.10\0.corp.example:443"sv, "203.0.113.10\0:443"sv, "[2001:db8::10\0]:443"sv,
        "[2001:db8::10\0\nx-injected: yes]:443"sv, "[2001:db8::10\r\nx: y]:443"sv,
        "example.org\0:443"sv, "example.org:443\0"sv, "exam\0ple.org:443"sv}) {
    EXPECT_FALSE(ParseHostPort(text)) << text;
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const std::string in_name = std::string("a") + c + "b";
    const std::string in_address = std::string("2001:db8::1") + c + "2";
    const bool is_of_names = std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.';
    const bool is_of_addresses = std::isxdigit(byte) != 0 || c == ':';
    EXPECT_EQ(ParseHostPort(in_name, 443).has_value(), is_of_names) << byte;
    EXPECT_EQ(ParseHostPort("[" + in_address + "]:443").has_value(), is_of_addresses) << byte;
  }
}

using Reach = EgressPolicy::Reach;

Reach Ask(const std::vector<std::string>& entries, std::string_view target) {
  const auto policy = EgressPolicy::Make(entries, "egress-allow");
  EXPECT_TRUE(policy.ok());
  return policy->ForHost(ParseHostPort(target).value());
}

TEST(EgressPolicy, PublicIsPort443OfAnythingPublic) {
  EXPECT_EQ(Ask({"public"}, "example.org:443"), Reach::kPublicAddress);
  EXPECT_EQ(Ask({"public"}, "10.0.0.1:443"), Reach::kPublicAddress) << "the address decides";
  EXPECT_EQ(Ask({"public"}, "example.org:80"), Reach::kNowhere);
  EXPECT_EQ(Ask({"public"}, "example.org:8443"), Reach::kNowhere);
  EXPECT_EQ(Ask({}, "example.org:443"), Reach::kNowhere);
}

TEST(EgressPolicy, AListNarrowsToItsHosts) {
  const std::vector<std::string> list = {"one.example", "*.two.example", "three.example:8443"};
  EXPECT_EQ(Ask(list, "one.example:443"), Reach::kAnyAddress);
  EXPECT_EQ(Ask(list, "ONE.example.:443"), Reach::kAnyAddress);
  EXPECT_EQ(Ask(list, "one.example:8443"), Reach::kNowhere);
  EXPECT_EQ(Ask(list, "x.one.example:443"), Reach::kNowhere);
  EXPECT_EQ(Ask(list, "a.b.two.example:443"), Reach::kPublicAddress) << "never a private one";
  EXPECT_EQ(Ask(list, "two.example:443"), Reach::kNowhere);
  EXPECT_EQ(Ask(list, "eviltwo.example:443"), Reach::kNowhere);
  EXPECT_EQ(Ask(list, "three.example:8443"), Reach::kAnyAddress);
  EXPECT_EQ(Ask(list, "three.example:443"), Reach::kNowhere);
  EXPECT_EQ(Ask(list, "203.0.113.1:443"), Reach::kNowhere);
  EXPECT_EQ(Ask({"10.0.0.5", "[fd00::5]:8443"}, "10.0.0.5:443"), Reach::kAnyAddress);
  EXPECT_EQ(Ask({"10.0.0.5", "[fd00::5]:8443"}, "[fd00::5]:8443"), Reach::kAnyAddress);
  EXPECT_EQ(Ask({"[fd00:0:0:0:0:0:0:7]"}, "[fd00::7]:443"), Reach::kAnyAddress) << "one address";
}

TEST(EgressPolicy, AnEntryThatIsNoHostIsRefused) {
  for (const char* entry : {"", "*", "*.", "http://example.org", "a b", "*.1.2.3.4", "x:99999"}) {
    EXPECT_NE(ComplaintAboutEntry(entry), "") << entry;
  }
  EXPECT_EQ(ComplaintAboutEntry("*.example.org:8443"), "");
}

Result<Upstream> FromVariables(const std::map<std::string, std::string>& variables) {
  return Upstream::FromEnvironment([&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? "" : found->second;
  });
}

TEST(Upstream, ComesFromTheEnvironment) {
  EXPECT_EQ(FromVariables({})->host, "");
  const auto full = FromVariables({{"HTTPS_PROXY", "http://me:p%40ss@proxy.example:3128/"},
                                   {"https_proxy", "http://other:1"},
                                   {"NO_PROXY", "localhost, .corp.example,10.0.0.1"}});
  ASSERT_TRUE(full.ok());
  EXPECT_EQ(full->host, "proxy.example");
  EXPECT_EQ(full->port, 3128);
  EXPECT_EQ(full->authorization, "Basic bWU6cEBzcw==");
  EXPECT_TRUE(full->UsedFor({"example.org", 443, false}));
  EXPECT_FALSE(full->UsedFor({"localhost", 443, false}));
  EXPECT_FALSE(full->UsedFor({"index.corp.example", 443, false}));
  EXPECT_FALSE(full->UsedFor({"10.0.0.1", 443, true}));
  const auto sixes = FromVariables(
      {{"ALL_PROXY", "x:1"}, {"NO_PROXY", "fd00:0:0:0:0:0:0:7,[2001:DB8::0010],0.113.10"}});
  EXPECT_FALSE(sixes->UsedFor({"fd00::7", 443, true}));
  EXPECT_FALSE(sixes->UsedFor({"2001:db8::10", 443, true}));
  EXPECT_TRUE(sixes->UsedFor({"203.0.113.10", 443, true})) << "an address is below no other";
  EXPECT_EQ(FromVariables({{"all_proxy", "10.1.2.3:8080"}})->port, 8080);
  EXPECT_FALSE(FromVariables({{"ALL_PROXY", "x:1"}, {"NO_PROXY", "*"}})
                   ->UsedFor({"example.org", 443, false}));
}

TEST(Upstream, AnAddressIsKnownAsOne) {
  EXPECT_TRUE(FromVariables({{"ALL_PROXY", "http://10.1.2.3:8080"}})->where().is_address);
  const HostPort six = FromVariables({{"ALL_PROXY", "http://[fd00:0::7]:8080"}})->where();
  EXPECT_TRUE(six.is_address);
  EXPECT_EQ(six.host, "fd00::7");
  EXPECT_EQ(six.port, 8080);
  EXPECT_FALSE(FromVariables({{"ALL_PROXY", "http://proxy.example:8080"}})->where().is_address);
}

TEST(Upstream, AnInvalidProxyIsRefusedWithoutShowingItsPassword) {
  for (const char* value :
       {"socks5://me:secret@proxy:1080", "https://me:secret@proxy", "http://"}) {
    const auto bad = FromVariables({{"HTTPS_PROXY", value}});
    ASSERT_FALSE(bad.ok()) << value;
    EXPECT_EQ(bad.error().message().find("secret"), std::string::npos);
    EXPECT_EQ(bad.error().message(),
              "HTTPS_PROXY: expected a proxy such as http://proxy.example.org:3128");
  }
}

}  // namespace
}  // namespace polybox::net
