// The network of a workspace's jail. The jail is real; hosts and clients of registries are those of
// the test, in a network of its own.
#include "machine/network.h"

#include <array>
#include <sstream>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing/await.h"
#include "base/testing/temp_dir.h"
#include "machine/machine.h"
#include "net/testing/host.h"
#include "net/testing/own_network.h"
#include "sys/host_facts.h"

namespace polybox::machine {
namespace {

using net::testing::Host;

constexpr const char* kGood = "203.0.113.10";
constexpr const char* kOther = "203.0.113.20";
constexpr const char* kPrivate = "10.9.8.7";

/// A function for scripts. It asks the proxy for a host and prints the proxy's answer, then what
/// the host says first.
constexpr const char* kAsk = R"(
ask() {
  exec 3<>/dev/tcp/127.0.0.1/3128 || return
  printf 'CONNECT %s HTTP/1.1\r\n\r\n' "$1" >&3
  read -r first <&3; echo "${first%$'\r'}"
  case $first in *200*) read -r _ <&3; read -r said <&3; echo "$said";; *) tail -n 1 <&3;; esac
}
)";

std::vector<net::Address> LookUp(const net::HostPort& target) {
  const std::map<std::string, std::string> names = {{"good.example", kGood},
                                                    {"other.example", kOther},
                                                    {"mirror.example", kPrivate},
                                                    {"rebound.example", kPrivate}};
  const auto found = names.find(target.host);
  if (target.is_address) return net::Resolve(target);
  if (found == names.end()) return {};
  return net::Resolve({found->second, target.port, true});
}

class MachineNetworkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "a network of one's own needs root";
    const auto grade = jail::ChooseGrade(jail::CheckHost(sys::ProbeHost()),
                                         {jail::Grade::kRootless, std::nullopt});
    if (!grade.ok()) GTEST_SKIP() << grade.error().message();
    auto home = launch::JailHome::Make(*grade);
    ASSERT_TRUE(home.ok()) << home.error().message();
    home_.emplace(std::move(home).value());
    ::chmod(directory_.path().c_str(), 0755);
    ::mkdir(root().c_str(), 0755);
    // An owner that is not root, so that no setting is needed.
    ASSERT_EQ(::chown(root().c_str(), 54321, 54321), 0);
    OpenWorkspace("off");
    toolchain_.roots = {"/nonexistent"};
    language_.id = "sample";
    language_.name = "Sample";
  }

  std::string root() const { return directory_.path() + "/project"; }

  void OpenWorkspace(const std::string& protected_paths) {
    auto workspace = workspace::Workspace::Open(
        "test", root(),
        {.protection = workspace::ProtectedPaths::FromSetting(protected_paths).value()});
    ASSERT_TRUE(workspace.ok()) << workspace.error().message();
    workspace_ = std::move(workspace).value();
  }

  /// Runs `body` with a machine whose commands may reach these hosts.
  void InWorld(const std::vector<std::string>& hosts, const std::function<void(Machine&)>& body) {
    ASSERT_TRUE(net::testing::InOwnNetwork([&] {
      ASSERT_TRUE(net::testing::AddV4(kGood, 1) && net::testing::AddV4(kOther, 2) &&
                  net::testing::AddV4(kPrivate, 3));
      const Host good("good", {kGood, 443, true});
      const Host other("other", {kOther, 443, true});
      const Host inside("private", {kPrivate, 443, true});
      NetworkOptions options;
      options.hosts = hosts;
      options.clients = [this] { return Clients(); };
      options.path = "/usr/bin:/bin";
      options.variable = [this](const std::string& name) { return variables_[name]; };
      options.lookup = LookUp;
      options.ledger = std::make_shared<net::EgressLedger>("workspace", logger_);
      auto network = Network::Make(std::move(options), logger_);
      ASSERT_TRUE(network.ok()) << network.error().message();
      MachineSettings settings = settings_;
      settings.network = network->get();
      Machine machine(*workspace_, {.home = [this] { return &*home_; }, .settings = settings});
      body(machine);
    }));
  }

  std::vector<registries::Client> Clients() {
    if (!language_.registry) return {};
    return {{language_, toolchain_}};
  }

  /// Runs a script and returns what it prints.
  static std::string Run(Machine& machine, const std::string& script) {
    auto process = machine.Start({.argv = {"/bin/bash", "-c", kAsk + script}});
    EXPECT_TRUE(process.ok()) << process.error().message();
    if (!process.ok()) return "";
    std::string text;
    std::array<char, 4096> buffer;
    for (const int fd :
         {process->streams().stdout_pipe.get(), process->streams().stderr_pipe.get()}) {
      for (ssize_t count = 1; count > 0;) {
        count = ::read(fd, buffer.data(), buffer.size());
        if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
      }
    }
    const auto outcome = process->Wait(std::chrono::seconds(60));
    EXPECT_TRUE(outcome.has_value());
    return text;
  }

  /// Whether the proxy connects a command to a host.
  static bool Reaches(Machine& machine, const std::string& host) {
    return Run(machine, "ask " + host).starts_with("HTTP/1.1 200 ");
  }

  polybox::testing::TempDir directory_;
  std::ostringstream log_;
  log::Logger logger_ = log::Logger::ToStream(log_, {});
  std::optional<launch::JailHome> home_;
  std::unique_ptr<workspace::Workspace> workspace_;
  MachineSettings settings_;
  languages::Toolchain toolchain_;
  languages::Language language_;
  std::map<std::string, std::string> variables_;
};

TEST_F(MachineNetworkTest, ACommandReachesWhatIsListedAndARefusalNamesTheSetting) {
  InWorld({"good.example", "*.mirror.example:8443"}, [](Machine& machine) {
    EXPECT_EQ(Run(machine, "ask good.example:443"), "HTTP/1.1 200 Connection established\ngood\n");
    EXPECT_TRUE(machine.TakeViolations().empty());
    EXPECT_FALSE(Reaches(machine, "other.example:443"));
    EXPECT_FALSE(Reaches(machine, "good.example:80"));
    const std::vector<Violation> expected = {
        {.kind = Violation::Kind::kConnection,
         .source = Violation::Source::kObserved,
         .subject = "other.example:443",
         .what = "other.example:443 may not be reached: it is not on the list of the setting "
                 "workspace-egress",
         .fix = "restart polybox with --workspace-egress other.example"},
        {.kind = Violation::Kind::kConnection,
         .source = Violation::Source::kObserved,
         .subject = "good.example:80",
         .what = "good.example:80 may not be reached: it is not on the list of the setting "
                 "workspace-egress",
         .fix = "restart polybox with --workspace-egress good.example:80"}};
    EXPECT_EQ(machine.TakeViolations(), expected);
    EXPECT_TRUE(machine.TakeViolations().empty());
  });
}

TEST_F(MachineNetworkTest, WithoutAListNothingIsReachedAndTheRefusalIsTold) {
  InWorld({}, [](Machine& machine) {
    EXPECT_FALSE(Reaches(machine, "good.example:443"));
    const std::vector<Violation> violations = machine.TakeViolations();
    ASSERT_EQ(violations.size(), 1U);
    EXPECT_EQ(violations[0].fix, "restart polybox with --workspace-egress good.example");
    EXPECT_EQ(Run(machine, "echo $HTTPS_PROXY $NO_PROXY"),
              "http://127.0.0.1:3128 localhost,127.0.0.1,::1\n");
  });
}

// The owner of a listed name may point it to an address in the operator's network.
TEST_F(MachineNetworkTest, NoNameLeadsToAPrivateAddressThatIsNotListed) {
  InWorld({"rebound.example", "public"}, [](Machine& machine) {
    EXPECT_FALSE(Reaches(machine, "rebound.example:443"));
    EXPECT_FALSE(Reaches(machine, std::string(kPrivate) + ":443"));
    const std::vector<Violation> violations = machine.TakeViolations();
    ASSERT_EQ(violations.size(), 2U);
    EXPECT_EQ(violations[0].what.find(kPrivate), std::string::npos)
        << "commands must not learn addresses of internal names";
    EXPECT_TRUE(Reaches(machine, "good.example:443"));
  });
  InWorld({"rebound.example", kPrivate},
          [](Machine& machine) { EXPECT_TRUE(Reaches(machine, "rebound.example:443")); });
}

TEST_F(MachineNetworkTest, RegistriesAreThoseThatAClientNamesAndNoOthers) {
  language_.registry.emplace();
  language_.registry->ask = {"printf", "registry https://mirror.example/\n"};
  InWorld({"registries"}, [](Machine& machine) {
    EXPECT_TRUE(Reaches(machine, "mirror.example:443"))
        << "the user's configuration names it, so its address may be private";
    for (const char* host : {"good.example:443", "rebound.example:443", "mirror.example:8443",
                             "registries:443", "10.9.8.7:443"}) {
      EXPECT_FALSE(Reaches(machine, host)) << host;
    }
    EXPECT_EQ(machine.TakeViolations().size(), 5U);
  });
}

TEST_F(MachineNetworkTest, ATrialDownloadTeachesHostsOnceAndOpensNoOthers) {
  language_.registry.emplace();
  language_.registry->ask = {"true"};
  language_.registry->trial = {"bash", "-c", std::string(kAsk) + "ask good.example:443"};
  language_.registry->limits.processes = 64;
  language_.registry->limits.disk = Bytes::MiB(16);
  InWorld({"registries"}, [](Machine& machine) {
    EXPECT_TRUE(Reaches(machine, "good.example:443"));
    EXPECT_FALSE(Reaches(machine, "other.example:443"));
    EXPECT_FALSE(Reaches(machine, "rebound.example:443"));
    EXPECT_TRUE(machine.Notes().empty()) << machine.Notes()[0];
  });
}

TEST_F(MachineNetworkTest, ATrialReachesNoPrivateAddressThatNoClientNamed) {
  language_.registry.emplace();
  language_.registry->ask = {"true"};
  language_.registry->trial = {"bash", "-c",
                               std::string(kAsk) + "ask rebound.example:443 | grep -q ' 200 '"};
  language_.registry->limits.processes = 64;
  InWorld({"registries"}, [](Machine& machine) {
    EXPECT_FALSE(Reaches(machine, "rebound.example:443"));
    ASSERT_EQ(machine.Notes().size(), 1U);
    EXPECT_EQ(
        machine.Notes()[0],
        "workspace-egress: not all package registries of Sample are known: the trial download "
        "failed: exit code 1");
  });
}

// The clients of the host must not read what a project says.
TEST_F(MachineNetworkTest, AHostileConfigurationInTheWorkspaceOpensNothing) {
  for (const char* name : {".clientrc", ".npmrc", "pip.conf"}) {
    directory_.Write(std::string("project/") + name, "registry https://good.example/");
  }
  language_.registry.emplace();
  language_.registry->ask = {"sh", "-c", "cat .clientrc .npmrc pip.conf; exit 0"};
  language_.registry->trial = {"bash", "-c",
                               std::string(kAsk) +
                                   "for name in .clientrc .npmrc pip.conf; do"
                                   " if [ -e $name ]; then ask good.example:443; fi; done"};
  language_.registry->limits.processes = 64;
  InWorld({"registries"}, [](Machine& machine) {
    EXPECT_EQ(Run(machine, "cat .clientrc"), "registry https://good.example/");
    EXPECT_FALSE(Reaches(machine, "good.example:443"));
  });
}

TEST_F(MachineNetworkTest, CommandsGetVariablesAndFilesOfTheClientsAndNoOthers) {
  language_.registry.emplace();
  language_.registry->ask = {"printf",
                             "file .config/client\n| url = https://user:secret@mirror.example/\n"};
  language_.registry->pass_env = {"CLIENT_TOKEN", "CLIENT_UNSET"};
  language_.registry->pass_files = {"CLIENT_CERT"};
  const std::string certificate = directory_.Write("certificate.pem", "a certificate");
  // A file with a password is readable for its owner alone, who can be another user than the owner
  // of the workspace.
  ASSERT_EQ(::chmod(certificate.c_str(), S_IRUSR), 0);
  directory_.Write("other.pem", "another file");
  variables_ = {
      {"CLIENT_TOKEN", "token"}, {"CLIENT_CERT", certificate}, {"OTHER_SECRET", "secret"}};
  InWorld({"good.example"}, [&](Machine& machine) {
    EXPECT_EQ(
        Run(machine,
            "echo $CLIENT_TOKEN ${CLIENT_UNSET-unset} ${OTHER_SECRET-unset}; cat $CLIENT_CERT; "
            "echo; cat ~/.config/client; ls $(dirname $CLIENT_CERT)"),
        "token unset unset\na certificate\nurl = https://mirror.example/\n"
        "certificate.pem\nproject\n");
  });
}

TEST_F(MachineNetworkTest, RefusalsOfTheNetworkAndOfTheProtectionAreBothTold) {
  OpenWorkspace("default");
  InWorld({}, [](Machine& machine) {
    EXPECT_NE(Run(machine, "ask other.example:443; echo evil >.envrc"), "");
    const std::vector<Violation> violations = machine.TakeViolations();
    ASSERT_EQ(violations.size(), 2U);
    EXPECT_EQ(violations[0].subject, ".envrc");
    EXPECT_EQ(violations[0].kind, Violation::Kind::kWrite);
    EXPECT_EQ(violations[1].subject, "other.example:443");
    EXPECT_EQ(violations[1].kind, Violation::Kind::kConnection);
    EXPECT_TRUE(machine.TakeViolations().empty());
  });
}

TEST_F(MachineNetworkTest, ANewLeaseHasANewProxyAndNoOldRefusals) {
  settings_.idle_time = std::chrono::milliseconds(1);
  InWorld({"good.example"}, [](Machine& machine) {
    EXPECT_FALSE(Reaches(machine, "other.example:443"));
    EXPECT_TRUE(polybox::testing::Await([&] { return !machine.EndIfIdle().has_value(); }));
    EXPECT_TRUE(machine.TakeViolations().empty());
    EXPECT_TRUE(Reaches(machine, "good.example:443"));
    EXPECT_TRUE(machine.TakeViolations().empty());
  });
}

// The files of clients are written before the first command of a lease.
TEST_F(MachineNetworkTest, ALinkInTheHomeLeadsNoFileOfAClientToAProtectedFile) {
  const polybox::testing::TempDir cache;
  ::chmod(cache.path().c_str(), 0755);
  settings_.cache_dir = cache.path();
  settings_.idle_time = std::chrono::milliseconds(1);
  language_.registry.emplace();
  language_.registry->ask = {"printf", "file .config/client\n| setting\n"};
  const std::string file = directory_.Write("project/.envrc", "of the user");
  ASSERT_EQ(::chown(file.c_str(), 54321, 54321), 0);
  OpenWorkspace("default");
  InWorld({"good.example"}, [&](Machine& machine) {
    EXPECT_EQ(Run(machine,
                  "cat ~/.config/client && rm ~/.config/client &&"
                  " ln -sf $PWD/.envrc ~/.cache/polybox/.config/client"),
              "setting\n");
    EXPECT_TRUE(polybox::testing::Await([&] { return !machine.EndIfIdle().has_value(); }));
    EXPECT_EQ(Run(machine, "cat .envrc"), "of the user");
    EXPECT_EQ(machine.Notes().size(), 1U) << "the file could not be written";
  });
}

TEST_F(MachineNetworkTest, AListThatIsWrongIsRefused) {
  NetworkOptions options;
  options.hosts = {"registries", "http://good.example"};
  options.variable = [](const std::string&) { return ""; };
  const auto network = Network::Make(std::move(options), logger_);
  ASSERT_FALSE(network.ok());
  EXPECT_TRUE(network.error().message().starts_with("expected public, example.org"))
      << network.error().message();
}

}  // namespace
}  // namespace polybox::machine
