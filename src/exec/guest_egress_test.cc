// Tests of guests with a network, inside a network that the test makes. The engine and its slots
// are real.
#include "exec/guest_egress.h"

#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing/await.h"
#include "base/testing/temp_dir.h"
#include "exec/testing/engine_fixture.h"
#include "net/testing/host.h"
#include "net/testing/own_network.h"

namespace polybox::exec {
namespace {

using net::EgressOutcome;
using net::testing::Host;

constexpr const char* kGood = "203.0.113.10";
constexpr const char* kOther = "203.0.113.20";

/// A function for scripts. It asks the proxy for a host and prints the proxy's answer, then the
/// first line that the host sends.
constexpr const char* kAsk = R"(
ask() {
  exec 3<>/dev/tcp/127.0.0.1/3128 || return
  printf 'CONNECT %s HTTP/1.1\r\n\r\n' "$1" >&3
  read -r first <&3; echo "${first%$'\r'}"
  case $first in *200*) read -r _ <&3; read -r said <&3; echo "$said";; *) tail -n 1 <&3;; esac
}
)";

class GuestEgressTest : public testing::EngineFixture {
 protected:
  void SetUp() override {
    EngineFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    // The compile step of this language runs the program once, with the argument "compiling".
    const std::string compile =
        testing::CompilePart("[\"{executable}\", \"{entry}\", \"compiling\"]");
    Load({"bash", "python"}, {testing::BashLanguage("twice", compile)});
    ASSERT_EQ(::chmod(commands_.path().c_str(), 0777), 0);
  }

  /// Runs `body` with an engine that has one place and lets guests reach these hosts.
  void InWorld(const std::vector<std::string>& allow, const std::function<void()>& body) {
    ASSERT_TRUE(net::testing::InOwnNetwork([&] {
      ASSERT_TRUE(net::testing::AddV4(kGood, 1) && net::testing::AddV4(kOther, 2));
      const Host good("good", {kGood, 443, true});
      const Host other("other", {kOther, 443, true});
      good_ = &good;
      other_ = &other;
      std::optional<GuestEgress> egress;
      if (!allow.empty()) egress.emplace(MakeEgress(allow));
      EngineOptions options;
      options.lanes = {{.name = "test", .concurrency = 1, .queue = 10}};
      options.guest_egress = egress ? &*egress : nullptr;
      options.commands = CommandDirectory{commands_.path(), "/app", 65534};
      StartEngine(std::move(options));
      body();
      engine_.reset();
    }));
  }

  GuestEgress MakeEgress(const std::vector<std::string>& allow) {
    const auto lookup = [](const net::HostPort& target) -> std::vector<net::Address> {
      if (target.host == "good.example") return net::Resolve({kGood, target.port, true});
      if (target.host == "inside.example") return net::Resolve({"127.0.0.1", target.port, true});
      return {};
    };
    return GuestEgress::Make({.hosts = allow,
                              .variable = [](const std::string&) { return std::string(); },
                              .lookup = lookup},
                             ledger_)
        .value();
  }

  std::string Bash(const std::string& code) {
    const Report report = Run(ProgramOf("bash", kAsk + code));
    return report.run ? report.run->out + report.run->err : "nothing ran";
  }

  std::shared_ptr<net::EgressLedger> ledger_ = std::make_shared<net::EgressLedger>("guest", log_);
  polybox::testing::TempDir commands_;
  const Host* good_ = nullptr;
  const Host* other_ = nullptr;
};

TEST_F(GuestEgressTest, AGuestReachesWhoIsOnTheListAndTheRefusalNamesTheSetting) {
  InWorld({"good.example", "inside.example"}, [&] {
    EXPECT_EQ(Bash("ask good.example:443"), "HTTP/1.1 200 Connection established\ngood\n");
    EXPECT_EQ(Bash("ask other.example:443"),
              "HTTP/1.1 403 Forbidden\npolybox: other.example:443 may not be reached: it is not "
              "on the list; the setting guest-egress with \"other.example\" would allow it\n");
    EXPECT_EQ(Bash("ask inside.example:443"),
              "HTTP/1.1 403 Forbidden\npolybox: inside.example:443 may not be reached: its address "
              "is not a public one; the setting guest-egress with its address, which the log has, "
              "would allow it\n");
    EXPECT_NE(lines_.str().find("\"address\":\"127.0.0.1\""), std::string::npos) << lines_.str();
    EXPECT_NE(Bash("exec 3<>/dev/tcp/203.0.113.20/443 && head -n 1 <&3").find("unreachable"),
              std::string::npos);
    EXPECT_EQ(other_->visitors(), 0);
    const net::EgressCounters counters = ledger_->counters();
    EXPECT_EQ(counters[EgressOutcome::kOpened], 1U);
    EXPECT_EQ(counters[EgressOutcome::kNotListed], 1U);
    EXPECT_EQ(counters[EgressOutcome::kNotPublic], 1U);
    EXPECT_NE(lines_.str().find("other.example"), std::string::npos);
  });
}

TEST_F(GuestEgressTest, WithoutAListThereIsNoNetworkAndNothingIsSaidOfOne) {
  InWorld({}, [&] {
    EXPECT_EQ(Bash("env | grep -i proxy; cut -d: -f1 /proc/net/dev | tail -n +3; "
                   "(exec 3<>/dev/tcp/127.0.0.1/3128) 2>/dev/null && echo reached"),
              "    lo\n");
  });
}

TEST_F(GuestEgressTest, NoConnectionOutlivesItsSession) {
  InWorld({"good.example"}, [&] {
    for (int session = 1; session <= 3; ++session) {
      // This process would outlive the program and keep the tunnel open.
      EXPECT_EQ(Bash("ask good.example:443; (sleep 1000 <&3 >/dev/null 2>&1) & exit 0"),
                "HTTP/1.1 200 Connection established\ngood\n");
      EXPECT_TRUE(polybox::testing::Await([&] { return good_->gone() >= session; }))
          << "the host was not told of the end";
      EXPECT_EQ(good_->gone(), session);
      EXPECT_EQ(good_->visitors(), session);
    }
  });
}

TEST_F(GuestEgressTest, EachSessionHasANetworkOfItsOwn) {
  InWorld({"good.example"}, [&] {
    const std::string look = "readlink /proc/self/ns/net; grep -c : /proc/net/tcp";
    const std::string first = Bash("ask good.example:443 >/dev/null; " + look);
    const std::string second = Bash(look);
    EXPECT_NE(first.substr(0, first.find('\n')), second.substr(0, second.find('\n')));
  });
}

TEST_F(GuestEgressTest, ACompileStepReachesNobody) {
  InWorld({"good.example"}, [&] {
    const Report report = Run(
        ProgramOf("twice", std::string(kAsk) + "ask good.example:443; env | grep -ci proxy; true"));
    ASSERT_TRUE(report.compile && report.run);
    EXPECT_EQ(report.compile->out,
              "HTTP/1.1 403 Forbidden\npolybox: good.example:443 may not be reached: only the "
              "program itself may reach hosts, nothing that runs before it\n0\n");
    EXPECT_EQ(report.run->out, "HTTP/1.1 200 Connection established\ngood\n6\n");
    EXPECT_EQ(ledger_->counters()[EgressOutcome::kNotYet], 1U);
  });
}

TEST_F(GuestEgressTest, ACommandReachesWhatAProgramReaches) {
  InWorld({"good.example"}, [&] {
    Request request;
    request.client = "someone";
    request.work = Command{
        {"bash", "-c", std::string(kAsk) + "ask good.example:443; ask x:443; echo $HTTPS_PROXY"}};
    const Report report = Run(std::move(request));
    ASSERT_TRUE(report.run);
    EXPECT_TRUE(
        report.run->out.starts_with("HTTP/1.1 200 Connection established\ngood\n"
                                    "HTTP/1.1 403 Forbidden\n"))
        << report.run->out << report.run->err;
    EXPECT_TRUE(report.run->out.ends_with("\nhttp://127.0.0.1:3128\n")) << report.run->out;
  });
}

TEST_F(GuestEgressTest, AWarmInterpreterKnowsTheProxyAndHasTheNetworkOfItsSession) {
  InWorld({"good.example"}, [&] {
    if (catalog_->Find("python") == nullptr) GTEST_SKIP() << "python is not available";
    const std::string code =
        "import os, socket\n"
        "host, port = os.environ['HTTPS_PROXY'].removeprefix('http://').split(':')\n"
        "s = socket.create_connection((host, port))\n"
        "s.sendall(b'CONNECT good.example:443 HTTP/1.1\\r\\n\\r\\n')\n"
        "f = s.makefile()\n"
        "f.readline(), f.readline()\n"
        "print(f.readline(), end='')\n";
    // The first run in a new slot starts cold. A second slot may be made while the first is being
    // reset.
    int warm = 0;
    for (int session = 0; session < 30 && warm < 3; ++session) {
      const Report report = Run(ProgramOf("python", code));
      ASSERT_TRUE(report.run);
      EXPECT_EQ(report.run->out + report.run->err, "good\n");
      warm += report.warm ? 1 : 0;
    }
    EXPECT_EQ(warm, 3);
  });
}

}  // namespace
}  // namespace polybox::exec
