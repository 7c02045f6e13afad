// What the answers of package clients say about their registries.
#include "registries/client_answer.h"

#include <gtest/gtest.h>

namespace polybox::registries {
namespace {

std::vector<std::string> Texts(const std::vector<net::HostPort>& hosts) {
  std::vector<std::string> texts;
  texts.reserve(hosts.size());
  for (const net::HostPort& host : hosts) texts.push_back(net::JoinHostPort(host.host, host.port));
  return texts;
}

struct HostCase {
  const char* text;
  std::vector<std::string> hosts;
};

TEST(ClientAnswer, HostsAreThoseOfTheUrls) {
  const HostCase cases[] = {
      {"https://npm.example.com/", {"npm.example.com:443"}},
      {"https://proxy.example.com,direct", {"proxy.example.com:443"}},
      {"https://a.example.com|https://b.example.com:8443/go,off",
       {"a.example.com:443", "b.example.com:8443"}},
      {"index = \"sparse+https://crates.example.com/index/\"", {"crates.example.com:443"}},
      {"http://plain.example.com/simple", {"plain.example.com:80"}},
      {"https://user:secret@pip.example.com/simple", {"pip.example.com:443"}},
      {"https://user@mail.example.com:p@pip.example.com/simple", {"pip.example.com:443"}},
      {"https://[2001:db8::1]:8443/simple", {"[2001:db8::1]:8443"}},
      {"https://user:secret@[2001:db8::1]/simple", {"[2001:db8::1]:443"}},
      {"company=https://pip.example.com/simple", {"pip.example.com:443"}},
      {"https://Twice.Example.com https://twice.example.com./x", {"twice.example.com:443"}},
      {"https://pip.example.com?token=x https://pip.example.com#y", {"pip.example.com:443"}},
      {"ssh://git.example.com/x file:///srv/mirror ftp://x.example.com", {}},
      {"direct", {}},
      {"off", {}},
      {"https://", {}},
      {"https:///path", {}},
      {"https://*.example.com/", {}},
      {"https://0x7f.1/", {}},
      {"https://2130706433/", {}},
      {"https://evil.example:99999/", {}},
      {"https://good.example\\@evil.example/", {"good.example:443"}},
      {"", {}},
  };
  for (const HostCase& one : cases) EXPECT_EQ(Texts(HostsIn(one.text)), one.hosts) << one.text;
}

TEST(ClientAnswer, CredentialsOfUrlsAreLeftOut) {
  const std::pair<const char*, const char*> cases[] = {
      {"registry=https://user:secret@npm.example.com/x", "registry=https://npm.example.com/x"},
      {"https://a:b@one.example.com,https://c:d@two.example.com",
       "https://one.example.com,https://two.example.com"},
      {"https://user:a,b|c@one.example.com/", "https://one.example.com/"},
      {"https://p@ss:w@rd@one.example.com/", "https://one.example.com/"},
      {"https://token@[2001:db8::1]/", "https://[2001:db8::1]/"},
      {"https://npm.example.com/@scope/name", "https://npm.example.com/@scope/name"},
      {"@scope:registry=https://npm.example.com", "@scope:registry=https://npm.example.com"},
      {"user@example.com", "user@example.com"},
      {"", ""},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(WithoutCredentials(text), expected);
}

TEST(ClientAnswer, RegistriesAndFilesAreReadAndWarningsAreNot) {
  const ClientAnswer answer = ParseClientAnswer(
      "npm warn see https://help.example.com/\n"
      "registry https://npm.example.com/ https://user:secret@corp.example.com/npm/\n"
      "registry https://npm.example.com/\n"
      "| a line without a file\n"
      "file .npmrc\n"
      "| registry=https://npm.example.com/\n"
      "| @corp:registry=https://user:secret@corp.example.com/npm/\n"
      "a warning\n"
      "file .config/empty\n");
  EXPECT_EQ(Texts(answer.hosts),
            (std::vector<std::string>{"npm.example.com:443", "corp.example.com:443"}));
  const std::map<std::string, std::string> files = {
      {".npmrc",
       "registry=https://npm.example.com/\n@corp:registry=https://corp.example.com/npm/\n"},
      {".config/empty", ""}};
  EXPECT_EQ(answer.files, files);
}

TEST(ClientAnswer, AFileStaysBelowTheHomeDirectory) {
  for (const char* path : {"/etc/passwd", "../x", "a/../../x", "a/..", "", ".", "a//b", "a/./b"}) {
    const ClientAnswer answer =
        ParseClientAnswer(std::string("file ") + path + "\n| content\nregistry x\n");
    EXPECT_TRUE(answer.files.empty()) << path;
  }
}

}  // namespace
}  // namespace polybox::registries
