#include "languages/parse.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "languages/testing/sample.h"
#include "limits/testing/with_number.h"

namespace polybox::languages {
namespace {

/// Returns the sample file with `from` replaced by `to`.
std::string Changed(const std::string& from, const std::string& to) {
  std::string text = testing::SampleFile("sample");
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string Complaints(const std::string& text) {
  const Result<Language> language = ParseLanguage(text, "x.toml", {});
  return language.ok() ? "" : language.error().message();
}

TEST(Parse, ASmallFileIsEnough) {
  DefaultLimits defaults;
  defaults.run.memory = Bytes::MiB(256);
  defaults.run.processes = 1;
  const auto language = ParseLanguage(testing::SampleFile("sample"), "x.toml", defaults);
  ASSERT_TRUE(language.ok()) << language.error().message();
  EXPECT_EQ(language->id, "sample");
  EXPECT_EQ(language->run.limits.memory, Bytes::MiB(256)) << "from the defaults";
  EXPECT_EQ(language->run.limits.processes, 32) << "the file's own wins";
  EXPECT_EQ(Capabilities(*language), std::vector<std::string_view>{"run"});
}

struct Refusal {
  const char* what;
  std::string text;
  const char* complaint;
};

TEST(Parse, AnErrorIsRefusedWithFileLineAndKey) {
  const Refusal refusals[] = {
      {"unknown key", Changed("[entry]", "[entry]\nfiel = 'x'"),
       "x.toml:9: unknown key \"entry.fiel\"; did you mean \"file\"?"},
      {"unknown table", Changed("[image]", "[imagine]\n[image]"),
       "x.toml:16: unknown key \"imagine\"; did you mean \"image\"?"},
      {"wrong type", Changed("binaries = [\"sample-run\"]", "binaries = \"sample-run\""),
       "x.toml:6: toolchain.binaries = \"sample-run\": expected a list of strings"},
      {"a limit without a unit", Changed("\"1GiB\"", "1024"),
       "x.toml:13: run.limits.address_space = 1024: expected a size with its unit, such as "
       "\"64MiB\" (B, "
       "KiB, MiB, GiB)"},
      {"a limit without a unit, as text", Changed("\"1GiB\"", "\"1024\""),
       "x.toml:13: run.limits.address_space = \"1024\": expected a size with its unit, such as "
       "\"64MiB\" "
       "(B, KiB, MiB, GiB)"},
      {"a count with a unit", Changed("open_files = 64", "open_files = \"64\""),
       "x.toml:14: run.limits.open_files = \"64\": expected a whole number"},
      {"no address space at all", Changed("\"1GiB\"", "\"0B\""),
       "x.toml:13: run.limits.address_space: expected more than nothing"},
      {"no processes at all", Changed("processes = 32", "processes = 0"),
       "x.toml:15: run.limits.processes = 0: expected a whole number above 0"},
      {"a missing limit that needs analysis", Changed("processes = 32\n", ""),
       "x.toml:12: missing key \"run.limits.processes\""},
      {"a missing table", Changed("[image]\napt = []\n", ""), "x.toml:1: missing key \"image\""},
      {"a bad id", Changed("\"sample\"", "\"Sample!\""),
       "x.toml:1: id = \"Sample!\": expected a lower-case name: a letter, then letters, digits, - "
       "or +"},
      {"an extension without its dot", Changed("\".smp\"", "\"smp\""),
       "x.toml:3: extensions = \"smp\": expected an extension with its dot, such as \".py\""},
      {"an unknown placeholder", Changed("{entry}", "{entyr}"),
       "x.toml:11: run.command = \"{entyr}\": no placeholder {entyr}; did you mean \"entry\"?"},
      {"an empty command", Changed("[\"{executable}\", \"{entry}\"]", "[]"),
       "x.toml:11: run.command = []: expected at least one string"},
      {"a relative read-only path", Changed("[run.limits]", "read_only = ['etc']\n[run.limits]"),
       "x.toml:12: run.read_only = \"etc\": expected an absolute path"},
      {"a file name with a directory", Changed("main.smp", "a/main.smp"),
       "x.toml:9: entry.file = \"a/main.smp\": expected a plain file name"},
      {"an unknown parser",
       testing::SampleFile("sample") + "[verify]\norder = 9\nmarkers = "
                                       "['x']\n[verify.lint]\ncommand = ['l']\nparser = 'ruff'\n",
       "x.toml:23: verify.lint.parser = \"ruff\": expected one of biome-json, "},
      {"an exit code with two meanings",
       testing::SampleFile("sample") +
           "[verify]\norder = 9\nmarkers = ['x']\n[verify.lint]\ncommand = "
           "['l']\nparser = 'tap'\nfindings = [0, 1]\n",
       "x.toml:24: verify.lint.findings: exit code 0 is in `ok` too"},
      {"registry clients that cannot be asked",
       testing::SampleFile("sample") + "[registry]\nbinaries = ['c']\n",
       "x.toml:18: missing key \"registry.ask\""},
      {"registry clients with an unknown placeholder",
       testing::SampleFile("sample") + "[registry]\nbinaries = ['c']\nask = ['c', '{proxyhost}']\n",
       "x.toml:20: registry.ask = \"{proxyhost}\": no placeholder {proxyhost}"},
      {"a registry client's marker outside of its directory",
       testing::SampleFile("sample") +
           "[registry]\nbinaries = ['c']\nask = ['c']\nprogram_marker = '../x'\n",
       "x.toml:21: registry.program_marker = \"../x\": expected a path inside the workspace"},
      {"an installer that does not use its target",
       testing::SampleFile("sample") +
           "[packages]\ninstaller = 'i'\nbinaries = ['i']\ninstall = ['i', '{requirements}']\n",
       "x.toml:21: packages.install: does not use {target}"},
  };
  for (const Refusal& refusal : refusals) {
    EXPECT_EQ(Complaints(refusal.text).substr(0, std::string(refusal.complaint).size()),
              refusal.complaint)
        << refusal.what;
  }
}

TEST(Parse, RegistryClientsAreReadAndHaveTheLimitsOfInstallers) {
  DefaultLimits defaults;
  defaults.packages.memory = Bytes::MiB(1536);
  const auto language = ParseLanguage(testing::SampleFile("sample") + R"(
[registry]
binaries = ["client"]
ask = ["client", "config", "{proxy_host}:{proxy_port}"]
trial = ["client", "fetch", "small"]
read_only = ["/etc/client"]
program_marker = "lib/client.conf"
pass_env = ["CLIENT_INDEX"]
pass_files = ["CLIENT_CERT"]
)",
                                      "x.toml", defaults);
  ASSERT_TRUE(language.ok()) << language.error().message();
  ASSERT_TRUE(language->registry.has_value());
  const RegistryClients& clients = *language->registry;
  EXPECT_EQ(clients.binaries, Argv{"client"});
  EXPECT_EQ(clients.ask, (Argv{"client", "config", "{proxy_host}:{proxy_port}"}));
  EXPECT_EQ(clients.trial, (Argv{"client", "fetch", "small"}));
  EXPECT_EQ(clients.read_only, Argv{"/etc/client"});
  EXPECT_EQ(clients.program_marker, "lib/client.conf");
  EXPECT_EQ(clients.pass_env, Argv{"CLIENT_INDEX"});
  EXPECT_EQ(clients.pass_files, Argv{"CLIENT_CERT"});
  EXPECT_EQ(clients.limits.memory, Bytes::MiB(1536));
}

TEST(Parse, AnUnknownKeyIsReportedBeforeAMissingOne) {
  EXPECT_EQ(Complaints(Changed("version = ", "versoin = ")),
            "x.toml:7: unknown key \"toolchain.versoin\"; did you mean \"version\"?\n"
            "x.toml:5: missing key \"toolchain.version\"");
}

/// Returns what is wrong with a file that sets one limit, and sets `limits` to what it sets.
std::string ReadOne(const limits::Limit& limit, const std::string& value, DefaultLimits& limits) {
  const std::string text = fmt::format("[run.limits]\n{} = {}\n", limit.key, value);
  const Status status = ParseDefaults(text, "d.toml", limits);
  return status.ok() ? "" : status.error().message();
}

TEST(Parse, EachLimitIsReadWithItsUnit) {
  for (const limits::Limit& limit : limits::kLimits) {
    const bool count = limit.unit() == limits::Unit::kCount;
    const char* value = count ? "17" : limit.unit() == limits::Unit::kTime ? "'17ms'" : "'17B'";
    DefaultLimits read;
    EXPECT_EQ(ReadOne(limit, value, read), "");
    EXPECT_EQ(read.run, limits::testing::WithNumber(limit, 17)) << limit.key;
    EXPECT_NE(ReadOne(limit, count ? "'17'" : "17", read), "") << limit.key;
  }
}

TEST(Parse, NoLimitButSwapIsZero) {
  for (const limits::Limit& limit : limits::kLimits) {
    const bool count = limit.unit() == limits::Unit::kCount;
    const char* value = count ? "0" : limit.unit() == limits::Unit::kTime ? "'0s'" : "'0B'";
    const std::string expected =
        count ? " = 0: expected a whole number above 0" : ": expected more than nothing";
    DefaultLimits read;
    EXPECT_EQ(
        ReadOne(limit, value, read),
        limit.key == "swap" ? "" : fmt::format("d.toml:2: run.limits.{}{}", limit.key, expected));
  }
}

TEST(Parse, DefaultsOnlyHoldLimits) {
  DefaultLimits limits;
  ASSERT_TRUE(ParseDefaults("[run.limits]\nmemory = '1MiB'\n", "d.toml", limits).ok());
  EXPECT_EQ(limits.run.memory, Bytes::MiB(1));
  const Status status = ParseDefaults("[run]\ncommand = ['x']\n", "d.toml", limits);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(), "d.toml:2: unknown key \"run.command\"");
}

}  // namespace
}  // namespace polybox::languages
