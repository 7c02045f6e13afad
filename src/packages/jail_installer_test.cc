// Tests of real installers in real jails. They need root, the installers, and a registry.
#include "packages/jail_installer.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing/await.h"
#include "base/testing/temp_dir.h"
#include "languages/builtin.h"
#include "languages/registry.h"
#include "launch/streams.h"
#include "launch/testing/full_home_fixture.h"
#include "packages/package_source.h"
#include "packages/package_store.h"

namespace polybox::packages {
namespace {

namespace fs = std::filesystem;

std::string Variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

class Installing : public launch::testing::FullHomeFixture {
 protected:
  void SetUp() override {
    FullHomeFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    registry_.emplace(languages::Registry::Load(languages::BuiltinFiles(), {}).value());
    toolchains_ = languages::FindToolchains(
        registry_->all(), {.path = Variable("PATH"), .cache_file = "", .packages_dir = dir_.path()},
        log_);
  }

  launch::Installation Of(const char* name) {
    return {*registry_->Find(name), toolchains_.at(name).value(), ""};
  }

  JailInstaller Make(const std::vector<std::string>& allow, const std::string& path = "") {
    return JailInstaller(*home_,
                         {.policy = net::EgressPolicy::Make(allow, "egress-allow").value(),
                          .upstream = net::Upstream::FromEnvironment(Variable).value(),
                          .path = path.empty() ? Variable("PATH") : path,
                          .variable = Variable},
                         ledger_);
  }

  /// Installs with the default policy. Registries may have private addresses, which that policy
  /// refuses. The function then allows each refused host by name and tries again, as an operator
  /// would.
  Provision Provide(const char* language, const std::vector<std::string>& requirements) {
    std::vector<std::string> allow = {"public"};
    for (int attempt = 0; attempt < 6; ++attempt) {
      JailInstaller installer = Make(allow);
      auto store = PackageStore::Open({dir_.path() + "/sets"}, installer, log_).value();
      auto provision = store->Provide(Of(language), requirements);
      EXPECT_TRUE(provision.ok()) << provision.error().message();
      if (!provision.ok()) return {};
      if (!provision->failure) return std::move(provision).value();
      const std::string host = HostToAllow(*provision->failure);
      if (host.empty()) return std::move(provision).value();
      allow.push_back(host);
    }
    return {};
  }

  /// Returns HOST from the message "... the setting egress-allow with "HOST" would allow it".
  static std::string HostToAllow(const std::string& failure) {
    const std::string marker = "the setting egress-allow with \"";
    const std::size_t at = failure.rfind(marker);
    if (at == std::string::npos) return "";
    const std::size_t begin = at + marker.size();
    return failure.substr(begin, failure.find('"', begin) - begin);
  }

  /// Runs a program with the set, as the engine does.
  std::string RunWith(const char* language, const std::string& packages, const std::string& code) {
    launch::Installation installation = Of(language);
    installation.packages = packages;
    const launch::LaunchInput program = {{{installation.language.entry.file, code, 0644}}, {}};
    auto slot = home_->MakeSlot(launch::SpecFor(installation, jail::Grade::kFull), 90);
    EXPECT_TRUE(slot.ok()) << slot.error().message();
    EXPECT_TRUE(slot->PutFiles(launch::FilesFor(installation, program).value()).ok());
    std::string said;
    launch::Streams streams;
    streams.out = streams.err = [&](std::string_view text) { said += text; };
    const auto outcome = launch::RunWithStreams(
        *slot, launch::RequestFor(installation, installation.language.run, program).value(),
        streams);
    EXPECT_TRUE(outcome.ok());
    return said;
  }

  testing::TempDir dir_;
  std::shared_ptr<net::EgressLedger> ledger_ =
      std::make_shared<net::EgressLedger>("installer", log_);
  std::optional<languages::Registry> registry_;
  languages::Toolchains toolchains_;
};

bool RegistryIsUnreachable(const std::string& failure) {
  return failure.find("cannot be reached") != std::string::npos ||
         failure.find("HTTP/1.1 502") != std::string::npos;
}

TEST_F(Installing, APythonPackageIsInstalledAndImported) {
  const Provision provision = Provide("python", {"six"});
  if (provision.failure && RegistryIsUnreachable(*provision.failure)) {
    GTEST_SKIP() << "no registry: " << *provision.failure;
  }
  ASSERT_FALSE(provision.failure.has_value()) << *provision.failure;
  ASSERT_NE(provision.lease.path(), "");
  EXPECT_TRUE(fs::exists(provision.lease.path() + "/six.py"));
  EXPECT_EQ(RunWith("python", provision.lease.path(),
                    "import six; print(six.__file__)\n"
                    "try: open('/packages/x', 'w')\n"
                    "except OSError as e: print(e.strerror)\n"),
            "/packages/six.py\nRead-only file system\n");
}

TEST_F(Installing, ANodePackageIsInstalledAndRequired) {
  const Provision provision = Provide("node", {"left-pad"});
  if (provision.failure && RegistryIsUnreachable(*provision.failure)) {
    GTEST_SKIP() << "no registry: " << *provision.failure;
  }
  ASSERT_FALSE(provision.failure.has_value()) << *provision.failure;
  EXPECT_EQ(RunWith("node", provision.lease.path(),
                    "console.log(require('left-pad')('x', 3), typeof require('lodash').map)"),
            "  x function\n")
      << "the preinstalled package is there too";
}

TEST_F(Installing, AHostThatIsNotOnTheListIsRefusedAndTheErrorSaysHowToAllowIt) {
  JailInstaller installer = Make({"nobody.example"});
  auto store = PackageStore::Open({dir_.path() + "/sets"}, installer, log_).value();
  const auto provision = store->Provide(Of("python"), {"six"});
  ASSERT_TRUE(provision.ok()) << provision.error().message();
  ASSERT_TRUE(provision->failure.has_value());
  EXPECT_TRUE(provision->failure->starts_with("exit status ")) << *provision->failure;
  EXPECT_NE(HostToAllow(*provision->failure), "") << *provision->failure;
  EXPECT_GT(ledger_->counters()[net::EgressOutcome::kNotListed], 0U);
  EXPECT_EQ(ledger_->counters()[net::EgressOutcome::kOpened], 0U);
  EXPECT_NE(lines_.str().find("refused a host to a jail"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(dir_.path() + "/sets")) << "nothing is left";
}

TEST_F(Installing, AMissingInstallerIsNamed) {
  const testing::TempDir empty;
  JailInstaller installer = Make({"public"}, empty.path());
  launch::Installation installation = Of("python");
  languages::Toolchain elsewhere = installation.toolchain;
  elsewhere.roots = {empty.path()};
  const auto outcome = installer.Install(
      {{installation.language, elsewhere, ""}, {"six"}, std::chrono::seconds(5)}, empty.path());
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->failure, "exec: \"uv\": executable file not found in $PATH");
}

TEST_F(Installing, IndexAndScriptsMakeADifference) {
  const launch::Installation node = Of("node");
  std::map<std::string, std::string> environment;
  const auto identity = [&](const std::string& index, bool scripts) {
    JailInstaller installer(
        *home_,
        {.policy = {},
         .indexes = {{"npm", index}},
         .scripts = scripts,
         .path = "",
         .variable = [&](const std::string& name) { return environment[name]; }},
        ledger_);
    return installer.Identity(node);
  };
  const std::string plain = identity("", false);
  EXPECT_EQ(identity("", false), plain);
  EXPECT_NE(identity("https://registry.example", false), plain);
  EXPECT_NE(identity("", true), plain);
  environment["npm_config_registry"] = "https://registry.example";
  EXPECT_NE(identity("", false), plain);
}

TEST_F(Installing, AnIndexAndTheScriptsSettingReachTheInstaller) {
  const launch::Installation node = Of("node");
  languages::Language language = node.language;
  language.packages->binaries = {"sh"};
  language.packages->install = {
      "sh", "-c", "echo \"$@\"; mkdir $0", "{target}", "--ignore-scripts", "--", "{requirements}"};
  for (const bool scripts : {false, true}) {
    JailInstaller installer(*home_,
                            {.policy = {},
                             .indexes = {{"npm", "https://registry.example"}},
                             .scripts = scripts,
                             .path = Variable("PATH"),
                             .variable = Variable},
                            ledger_);
    const testing::TempDir target;
    const auto outcome = installer.Install(
        {{language, node.toolchain, ""}, {"a", "b"}, std::chrono::seconds(10)}, target.path());
    ASSERT_TRUE(outcome.ok()) << outcome.error().message();
    EXPECT_EQ(outcome->output, std::string(scripts ? "" : "--ignore-scripts ") +
                                   "--registry https://registry.example -- a b\n");
  }
}

/// A language whose installer is a shell script.
languages::Language ScriptedLanguage(const languages::Language& base, const std::string& script) {
  languages::Language language = base;
  language.packages->binaries = {"sh"};
  language.packages->install = {"sh", "-c", script, "{target}", "{requirements}"};
  return language;
}

TEST_F(Installing, AnInstallersResultIsNotTrusted) {
  const launch::Installation python = Of("python");
  JailInstaller installer = Make({"public"});
  const std::tuple<const char*, const char*, const char*> rows[] = {
      {"mkdir $0; echo fine > $0/x", "", ""},
      {"echo out; echo err >&2; exit 3", "exit status 3", "out\nerr\n"},
      {"kill -SEGV $$", "signal: segmentation fault", ""},
      {"sleep 30", "signal: killed", ""},
      {"mkdir $0; ln -s /etc/passwd $0/x",
       "what the installer made cannot be used: x: a link that leads outside", ""},
      {"mkdir $0; mkfifo $0/x",
       "what the installer made cannot be used: x: neither a file, a directory nor a link", ""},
      {"cat /etc/shadow; touch /usr/x; exec 2>&1; :; mkdir $0", "", nullptr},
  };
  for (const auto& [script, failure, output] : rows) {
    const testing::TempDir target;
    const languages::Language language = ScriptedLanguage(python.language, script);
    const auto outcome = installer.Install(
        {{language, python.toolchain, ""}, {"six"}, std::chrono::seconds(2)}, target.path());
    ASSERT_TRUE(outcome.ok()) << script << ": " << outcome.error().message();
    EXPECT_EQ(outcome->failure, failure) << script;
    if (output != nullptr) {
      EXPECT_EQ(outcome->output, output) << script;
    }
    EXPECT_EQ(outcome->unfinished, std::string_view(script) == "sleep 30");
  }
}

TEST_F(Installing, AnInstallerHasNoWayOutButTheProxy) {
  const launch::Installation python = Of("python");
  JailInstaller installer = Make({"public"});
  const languages::Language language = ScriptedLanguage(
      python.language,
      "mkdir $0; for a in 127.0.0.1/22 127.0.0.1/80 192.0.2.1/443 10.0.0.1/443 8.8.8.8/53; do"
      "  timeout 2 bash -c \"exec 3<>/dev/tcp/$a\" 2>/dev/null && echo reached $a;"
      "done; timeout 2 bash -c 'exec 3<>/dev/udp/8.8.8.8/53 && echo x >&3' 2>/dev/null && echo dns;"
      "env | grep -i _proxy= | sort; true");
  const testing::TempDir target;
  const auto outcome = installer.Install(
      {{language, python.toolchain, ""}, {"six"}, std::chrono::seconds(30)}, target.path());
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome->failure, "");
  EXPECT_EQ(outcome->output,
            "HTTPS_PROXY=http://127.0.0.1:3128\nHTTP_PROXY=http://127.0.0.1:3128\n"
            "NO_PROXY=localhost,127.0.0.1,::1\n"
            "http_proxy=http://127.0.0.1:3128\nhttps_proxy=http://127.0.0.1:3128\n"
            "no_proxy=localhost,127.0.0.1,::1\n");
}

TEST_F(Installing, TheEngineGetsASetOnceAndAFailureInTheInstallersWords) {
  auto source = MakePackageSource(
      *home_, {.directory = dir_.path() + "/sets", .indexes = {{"uv", ""}}, .variable = Variable},
      log_);
  ASSERT_TRUE(source.ok()) << source.error().message();
  const launch::Installation python = Of("python");
  const languages::Language language = ScriptedLanguage(
      python.language, "[ $1 = six ] || { echo no $1; exit 1; }; mkdir $0; echo made > $0/x");
  const launch::Installation installation = {language, python.toolchain, "/preinstalled"};
  const PackageTerms terms = {.time = std::chrono::seconds(20)};
  const auto set = (*source)->Get(installation, {"six"}, terms);
  ASSERT_TRUE(set.ok()) << set.error().message();
  EXPECT_EQ(ReadFile(set->directory + "/x").value_or(""), "made\n");
  EXPECT_NE(set->lease, nullptr);
  EXPECT_EQ((*source)->Get(installation, {"six"}, terms)->directory, set->directory);
  EXPECT_EQ((*source)->Get(installation, {}, terms)->directory, "/preinstalled");
  const auto failed = (*source)->Get(installation, {"aa"}, terms);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(failed.error().message(), "exit status 1: no aa\n");
  const auto refused = (*source)->Get(installation, {"--index-url=x"}, terms);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind(), ErrorKind::kInvalid);
}

TEST_F(Installing, WithoutNamespacesNothingIsInstalledAndTheFailureSaysWhy) {
  auto bare = launch::JailHome::Make(jail::Grade::kNone);
  ASSERT_TRUE(bare.ok()) << bare.error().message();
  JailInstaller installer(*bare, {.policy = {}, .path = "", .variable = Variable}, ledger_);
  const testing::TempDir target;
  const auto outcome =
      installer.Install({Of("python"), {"six"}, std::chrono::seconds(5)}, target.path());
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->failure, "polybox: the isolation grade none has no network for installers");
}

TEST_F(Installing, CancellingEndsTheInstaller) {
  const launch::Installation python = Of("python");
  JailInstaller installer = Make({"public"});
  // The installer's request is refused and counted, so this test knows that the installer runs.
  const languages::Language language =
      ScriptedLanguage(python.language,
                       "bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128; printf \"GET / "
                       "HTTP/1.1\\r\\n\\r\\n\" >&3; cat <&3'; sleep 30");
  std::stop_source stop;
  const std::jthread canceller([&] {
    EXPECT_TRUE(
        testing::Await([&] { return ledger_->counters()[net::EgressOutcome::kNotConnect] > 0; }));
    stop.request_stop();
  });
  const testing::TempDir target;
  const auto begin = std::chrono::steady_clock::now();
  const auto outcome = installer.Install(
      {{language, python.toolchain, ""}, {}, std::chrono::seconds(20), stop.get_token()},
      target.path());
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->unfinished);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace polybox::packages
