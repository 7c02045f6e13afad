// How clients of registries are asked. The clients are scripts of the test.
#include "registries/client.h"

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing/temp_dir.h"

namespace polybox::registries {
namespace {

using net::HostPort;

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    language_.registry.emplace();
    toolchain_.roots = {directory_.path()};
    ::chmod(directory_.path().c_str(), 0755);
  }

  void AskBy(const std::string& script) { language_.registry->ask = {"sh", "-c", script}; }
  Result<ClientAnswer> Asked(const ClientUser& user) {
    return Ask({language_, toolchain_},
               {.user = user, .path = "/usr/bin:/bin", .variable = [this](const std::string& name) {
                  return variables_[name];
                }});
  }

  polybox::testing::TempDir directory_;
  languages::Language language_;
  languages::Toolchain toolchain_;
  std::map<std::string, std::string> variables_;
};

TEST_F(ClientTest, TheAnswerIsThatOfTheUsersConfiguration) {
  directory_.Write(".clientrc", "https://mirror.example.com/");
  AskBy("echo registry $(cat \"$HOME/.clientrc\")");
  const auto answer = Asked({.ids = {}, .home = directory_.path()});
  ASSERT_TRUE(answer.ok()) << answer.error().message();
  EXPECT_EQ(answer->hosts, (std::vector<HostPort>{{"mirror.example.com", 443, false}}));
}

// A client that looks for a configuration in its working directory must not find the workspace's.
TEST_F(ClientTest, NoFileOfAWorkspaceHasAnInfluence) {
  directory_.Write("workspace/.clientrc", "https://evil.example/");
  AskBy("cat .clientrc 2>/dev/null || true; echo \"registry https://$(pwd | tr / x).example\"");
  std::filesystem::current_path(directory_.path() + "/workspace");
  const auto answer = Asked({.ids = {}, .home = directory_.path()});
  std::filesystem::current_path("/");
  ASSERT_TRUE(answer.ok()) << answer.error().message();
  EXPECT_EQ(answer->hosts, (std::vector<HostPort>{{"x.example", 443, false}}));
}

TEST_F(ClientTest, AHomeInTheWorkspaceCountsForNothing) {
  directory_.Write("home/.clientrc", "https://evil.example/");
  const std::string home = directory_.path() + "/home";
  const std::string before = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  ::setenv("HOME", home.c_str(), 1);
  std::filesystem::create_directory_symlink(home, directory_.path() + "/link");
  const std::string real = std::filesystem::canonical(directory_.path()).string();
  for (const std::string& workspace : {real, real + "/home", std::string("/")}) {
    const ClientUser user = UserFor(::geteuid(), ::getegid(), workspace);
    EXPECT_EQ(user.home, "/nonexistent") << workspace;
    EXPECT_FALSE(user.inherits_variables);
  }
  ::setenv("HOME", (directory_.path() + "/link").c_str(), 1);
  EXPECT_EQ(UserFor(::geteuid(), ::getegid(), real + "/home").home, "/nonexistent");
  ::setenv("HOME", home.c_str(), 1);
  for (const std::string& workspace : {real + "/home/project", real + "/hom"}) {
    EXPECT_EQ(UserFor(::geteuid(), ::getegid(), workspace).home, home) << workspace;
  }
  ::setenv("HOME", before.c_str(), 1);
}

TEST_F(ClientTest, AServerOfRootAsksAsTheOwnerWithoutItsOwnVariables) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  constexpr unsigned kOwner = 54321;
  const ClientUser user = UserFor(kOwner, kOwner, "/somewhere");
  ASSERT_TRUE(user.ids.has_value());
  EXPECT_EQ(user.home, "/nonexistent") << "no such user is in the database";
  language_.registry->pass_env = {"CLIENT_INDEX"};
  variables_ = {{"CLIENT_INDEX", "https://index.example.com/"}};
  ::setenv("POLYBOX_TEST_SECRET", "secret", 1);
  AskBy(
      "echo \"registry https://$(id -u).$(id -g).$(id -G | tr ' ' .).example "
      "https://h$(echo $HOME | tr / x).example "
      "https://s${POLYBOX_TEST_SECRET:-none}.example $CLIENT_INDEX\"");
  const auto answer = Asked(user);
  ::unsetenv("POLYBOX_TEST_SECRET");
  ASSERT_TRUE(answer.ok()) << answer.error().message();
  std::vector<std::string> hosts;
  for (const HostPort& host : answer->hosts) hosts.push_back(host.host);
  EXPECT_EQ(hosts, (std::vector<std::string>{"54321.54321.54321.example", "hxnonexistent.example",
                                             "snone.example", "index.example.com"}));
}

TEST_F(ClientTest, TheCommandGetsTheToolchainAndTheProxy) {
  toolchain_.executable = "/opt/client/bin/client";
  language_.registry->ask = {"sh",           "-c",           "echo file args; echo \"| $*\"",
                             "sh",           "{executable}", "{root}",
                             "{proxy_host}", "{proxy_port}"};
  const auto answer = Asked({.ids = {}, .home = "/"});
  ASSERT_TRUE(answer.ok()) << answer.error().message();
  EXPECT_EQ(answer->files.at("args"),
            "/opt/client/bin/client " + directory_.path() + " 127.0.0.1 3128\n");
}

TEST_F(ClientTest, AClientThatFailsHasNoAnswer) {
  AskBy("echo registry https://half.example; echo broken >&2; exit 3");
  const auto answer = Asked({.ids = {}, .home = "/"});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message(), "exit code 3: broken");
  language_.registry->ask = {"no-such-client"};
  const auto none = Asked({.ids = {}, .home = "/"});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message(), "the program no-such-client is missing");
}

TEST_F(ClientTest, OnlyLanguagesWithAToolchainAndAClientAreAsked) {
  directory_.WriteExecutable("bin/client", "#!/bin/sh\n");
  std::vector<languages::Language> languages(4);
  for (std::size_t i = 0; i < languages.size(); ++i) {
    languages[i].id = std::string(1, static_cast<char>('a' + i));
    languages[i].registry.emplace();
    languages[i].registry->binaries = {i == 1 ? "missing" : "client"};
  }
  languages[2].registry.reset();
  languages::Toolchains toolchains;
  for (const char* id : {"a", "b", "c"}) toolchains.emplace(id, toolchain_);
  toolchains.emplace("d", Error(ErrorKind::kUnavailable, "not installed"));
  const std::vector<Client> clients = ClientsOn(languages, toolchains, "/usr/bin");
  ASSERT_EQ(clients.size(), 1U);
  EXPECT_EQ(clients[0].language.id, "a");
}

}  // namespace
}  // namespace polybox::registries
