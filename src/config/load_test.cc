#include "config/load.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace polybox::config {
namespace {

/// Returns the settings, or the error text.
struct Outcome {
  Loaded loaded;
  std::string error;
};

Outcome LoadFrom(const Inputs& inputs) {
  Result<Loaded> loaded = Load(inputs);
  if (!loaded.ok()) return {{}, loaded.error().message()};
  return {std::move(loaded).value(), ""};
}

TEST(Load, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  const testing::TempDir dir;
  const std::string file = dir.Write("polybox.toml", "log-level = 'warn'\nmode = 'node'\n");
  Inputs inputs;
  EXPECT_EQ(LoadFrom(inputs).loaded.settings.log_level, "info");
  EXPECT_EQ(LoadFrom(inputs).loaded.OriginOf("log-level").name, "default");
  inputs.default_files = {dir.path() + "/none.toml", file};
  EXPECT_EQ(LoadFrom(inputs).loaded.settings.log_level, "warn");
  EXPECT_EQ(LoadFrom(inputs).loaded.OriginOf("log-level").name, file + ":1");
  EXPECT_EQ(LoadFrom(inputs).loaded.OriginOf("mode").name, file + ":2");
  inputs.environment["POLYBOX_LOG_LEVEL"] = "error";
  EXPECT_EQ(LoadFrom(inputs).loaded.settings.log_level, "error");
  inputs.flags = {{"log-level", "debug"}};
  EXPECT_EQ(LoadFrom(inputs).loaded.settings.log_level, "debug");
  EXPECT_EQ(LoadFrom(inputs).loaded.OriginOf("log-level").name, "--log-level");
  EXPECT_EQ(LoadFrom(inputs).loaded.settings.mode, "node");
}

TEST(Load, ARelativeDirectoryIsTheOneBelowWhereWeStand) {
  Inputs inputs;
  inputs.flags = {{"packages-dir", "sets"}, {"cache-dir", "/cache"}};
  const Settings settings = LoadFrom(inputs).loaded.settings;
  EXPECT_EQ(settings.packages_dir, std::filesystem::current_path().string() + "/sets");
  EXPECT_EQ(settings.cache_dir, "/cache");
  EXPECT_EQ(settings.compile_cache_dir, "");
}

TEST(Load, TheOlderNamesAreHonouredAfterOurOwn) {
  Inputs inputs;
  inputs.environment = {{"SANDBOX_MODE", "golang"},
                        {"SANDBOX_MAX_CONCURRENT", "7"},
                        {"SANDBOX_PYTHON_INDEX", "http://index/simple"},
                        {"SANDBOX_OUTPUT_DIR", "out"},
                        {"SANDBOX_PORT", "9000"},
                        {"PORT", "9001"}};
  Outcome outcome = LoadFrom(inputs);
  ASSERT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.loaded.settings.mode, "golang");
  EXPECT_EQ(outcome.loaded.settings.max_concurrent, 7);
  EXPECT_EQ(outcome.loaded.settings.python_index, "http://index/simple");
  EXPECT_EQ(outcome.loaded.settings.output_dir, "out");
  EXPECT_EQ(ListenAddress(outcome.loaded), "127.0.0.1:9000");
  EXPECT_EQ(outcome.loaded.OriginOf("mode").name, "SANDBOX_MODE");
  inputs.environment["POLYBOX_MODE"] = "node";
  inputs.environment["SANDBOX_PORT"] = "";
  outcome = LoadFrom(inputs);
  EXPECT_EQ(outcome.loaded.settings.mode, "node");
  EXPECT_EQ(ListenAddress(outcome.loaded), "127.0.0.1:9001") << "an empty variable is not set";
}

TEST(Load, APortGivesWayToAStrongerListen) {
  Inputs inputs;
  inputs.environment["PORT"] = "9001";
  inputs.flags = {{"listen", "[::1]:7000"}};
  EXPECT_EQ(ListenAddress(LoadFrom(inputs).loaded), "[::1]:7000");
  inputs.flags.emplace_back("port", "7001");
  EXPECT_EQ(ListenAddress(LoadFrom(inputs).loaded), "[::1]:7001");
}

TEST(Load, ANumberWithoutAUnitCountsSecondsOrBytesEverywhere) {
  Inputs inputs;
  inputs.flags = {{"run-timeout", "45"}, {"compile-timeout", "1m"}, {"max-body-size", "1000"}};
  const Settings settings = LoadFrom(inputs).loaded.settings;
  EXPECT_EQ(settings.run_timeout, std::chrono::seconds(45));
  EXPECT_EQ(settings.compile_timeout, std::chrono::minutes(1));
  EXPECT_EQ(settings.max_body_size, Bytes(1000));
  const testing::TempDir dir;
  inputs.flags = {{"max-timeout", "45"}, {"warm-memory", "0"}, {"drain-timeout", "0"}};
  inputs.environment = {{"POLYBOX_IDLE_TIMEOUT", "0.5"}};
  inputs.flags.emplace_back("config", dir.Write("n.toml",
                                                "header-timeout = 7\nrequest-timeout = '8'\n"
                                                "base-dir-size = 4096\n"));
  const Settings more = LoadFrom(inputs).loaded.settings;
  EXPECT_EQ(more.max_timeout, std::chrono::seconds(45));
  EXPECT_EQ(more.warm_memory, Bytes());
  EXPECT_EQ(more.drain_timeout, Duration());
  EXPECT_EQ(more.idle_timeout, std::chrono::milliseconds(500));
  EXPECT_EQ(more.header_timeout, std::chrono::seconds(7));
  EXPECT_EQ(more.request_timeout, std::chrono::seconds(8));
  EXPECT_EQ(more.base_dir_size, Bytes(4096));
  inputs = {};
  inputs.flags = {{"config", dir.Write("p.toml", "run-timeout = '0s'\n")}};
  EXPECT_EQ(LoadFrom(inputs).error,
            dir.path() + "/p.toml:1: run-timeout: expected more than nothing");
}

TEST(Load, TheTimeoutOfCommandsIsATimeLikeAnyOther) {
  const testing::TempDir dir;
  const auto seconds = [](const Inputs& inputs) {
    return std::chrono::duration<double>(LoadFrom(inputs).loaded.settings.command_timeout).count();
  };
  EXPECT_EQ(seconds({.flags = {{"command-timeout", "10m"}}}), 600);
  EXPECT_EQ(seconds({.flags = {{"config", dir.Write("a.toml", "command-timeout = 60\n")}}}), 60);
  EXPECT_EQ(seconds({.environment = {{"SANDBOX_EXEC_TIMEOUT_SECONDS", "0.5"}}}), 0.5);
  for (const Inputs& inputs :
       {Inputs{.flags = {{"command-timeout", "0"}}},
        Inputs{.environment = {{"POLYBOX_COMMAND_TIMEOUT", "0"}}},
        Inputs{.flags = {{"config", dir.Write("b.toml", "command-timeout = 0\n")}}}}) {
    EXPECT_TRUE(LoadFrom(inputs).error.ends_with(": expected more than nothing"))
        << LoadFrom(inputs).error;
  }
}

TEST(Load, ABadTimeoutUnderTheOlderNameIsWarnedOfAndCountsAsNotSet) {
  const testing::TempDir dir;
  for (const char* text : {"0", "-1", "inf", "nan", "soon", "1e300"}) {
    Inputs inputs = {.environment = {{"SANDBOX_EXEC_TIMEOUT_SECONDS", text}}};
    Outcome outcome = LoadFrom(inputs);
    ASSERT_EQ(outcome.error, "") << text;
    EXPECT_EQ(outcome.loaded.settings.command_timeout, std::chrono::seconds(300)) << text;
    EXPECT_EQ(outcome.loaded.OriginOf("command-timeout").source, Source::kDefault) << text;
    ASSERT_EQ(outcome.loaded.warnings.size(), 1U) << text;
    EXPECT_TRUE(outcome.loaded.warnings[0].starts_with(
        std::string("SANDBOX_EXEC_TIMEOUT_SECONDS = \"") + text + "\": expected "))
        << outcome.loaded.warnings[0];
    inputs.flags = {{"config", dir.Write("p.toml", "command-timeout = '7s'\n")}};
    EXPECT_EQ(LoadFrom(inputs).loaded.settings.command_timeout, std::chrono::seconds(7));
    inputs.environment["POLYBOX_COMMAND_TIMEOUT"] = text;
    EXPECT_NE(LoadFrom(inputs).error, "") << text;
  }
}

TEST(Load, ASwitchIsTrueOrFalse) {
  Inputs inputs;
  EXPECT_FALSE(LoadFrom(inputs).loaded.settings.insecure);
  inputs.environment["POLYBOX_INSECURE"] = "true";
  EXPECT_TRUE(LoadFrom(inputs).loaded.settings.insecure);
  inputs.flags = {{"insecure", "false"}};
  EXPECT_FALSE(LoadFrom(inputs).loaded.settings.insecure);
  const testing::TempDir dir;
  inputs.flags = {{"config", dir.Write("p.toml", "metrics = false\ninsecure = 1\n")}};
  EXPECT_EQ(LoadFrom(inputs).error, dir.path() + "/p.toml:2: insecure = 1: expected true or false");
}

TEST(Load, WithTheOlderNameOfConcurrencyNoRequestQueuesUnlessAskedFor) {
  Inputs inputs;
  EXPECT_EQ(QueueLength(LoadFrom(inputs).loaded), 50);
  inputs.environment["SANDBOX_MAX_CONCURRENT"] = "2";
  EXPECT_EQ(QueueLength(LoadFrom(inputs).loaded), 0);
  inputs.flags = {{"queue", "7"}};
  EXPECT_EQ(QueueLength(LoadFrom(inputs).loaded), 7);
  inputs.flags = {{"max-concurrent", "4"}};
  EXPECT_EQ(QueueLength(LoadFrom(inputs).loaded), 50);
}

TEST(Load, ListsGrowWithinASourceAndAreReplacedByAStrongerOne) {
  Inputs inputs;
  inputs.environment["POLYBOX_LANGUAGES_DIR"] = "/a:/b";
  using Strings = std::vector<std::string>;
  EXPECT_EQ(LoadFrom(inputs).loaded.settings.languages_dir, (Strings{"/a", "/b"}));
  inputs.flags = {{"languages-dir", "/c"}, {"languages-dir", "/d:e"}};
  EXPECT_EQ(LoadFrom(inputs).loaded.settings.languages_dir, (Strings{"/c", "/d:e"}))
      << "a flag is one directory, whatever its name";
  inputs.flags = {{"languages-dir", ""}};
  EXPECT_EQ(LoadFrom(inputs).error, "--languages-dir = \"\": expected some text");
}

TEST(Load, HostsAreSeparatedByCommasBecauseTheyMayHaveAPort) {
  Inputs inputs;
  inputs.environment["POLYBOX_EGRESS_ALLOW"] = "public,index.example:8443,*.example.org";
  using Strings = std::vector<std::string>;
  const Settings settings = LoadFrom(inputs).loaded.settings;
  EXPECT_EQ(settings.egress_allow, (Strings{"public", "index.example:8443", "*.example.org"}));
  EXPECT_EQ(ShowValue(settings, *FindSetting("egress-allow")),
            "public,index.example:8443,*.example.org");
  inputs.flags = {{"guest-egress", "http://example.org"}};
  EXPECT_EQ(LoadFrom(inputs).error,
            "--guest-egress = \"http://example.org\": expected public, example.org, *.example.org, "
            "192.0.2.1 or [2001:db8::1], each with or without :PORT");
}

struct BadValue {
  const char* name;
  const char* value;
  const char* complaint;
};

TEST(Load, ABadValueSaysWhereWhatAndWhatIsAllowed) {
  const BadValue cases[] = {
      {"POLYBOX_LOG_LEVEL", "inof",
       "POLYBOX_LOG_LEVEL = \"inof\": expected one of debug, info, warn, error; did you mean "
       "\"info\"?"},
      {"SANDBOX_MAX_CONCURRENT", "3abc",
       "SANDBOX_MAX_CONCURRENT = \"3abc\": expected a whole number from 1 to 4096"},
      {"SANDBOX_MAX_CONCURRENT", "0",
       "SANDBOX_MAX_CONCURRENT = \"0\": expected a whole number from 1 to 4096"},
      {"POLYBOX_METRICS", "yes", "POLYBOX_METRICS = \"yes\": expected true or false"},
      {"POLYBOX_RUN_TIMEOUT", "0", "POLYBOX_RUN_TIMEOUT = \"0\": expected more than nothing"},
      {"PORT", "70000", "PORT = \"70000\": expected a whole number from 1 to 65535"},
      {"SANDBOX_OUTPUT_DIR", "../x",
       "SANDBOX_OUTPUT_DIR = \"../x\": expected a plain directory name without /"},
      {"POLYBOX_LISTEN", "8080",
       "POLYBOX_LISTEN = \"8080\": expected HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080"},
      {"POLYBOX_LISTEN", "host:99999",
       "POLYBOX_LISTEN = \"host:99999\": expected HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080"},
      {"POLYBOX_FOO", "1", "environment: unknown setting POLYBOX_FOO"},
      {"POLYBOX_LOGLEVEL", "info",
       "environment: unknown setting POLYBOX_LOGLEVEL; did you mean POLYBOX_LOG_LEVEL?"},
  };
  for (const BadValue& c : cases) {
    Inputs inputs;
    inputs.environment[c.name] = c.value;
    EXPECT_EQ(LoadFrom(inputs).error, c.complaint);
  }
}

TEST(Load, AFileIsRefusedWithLineKeyAndSuggestion) {
  const testing::TempDir dir;
  const std::string file =
      dir.Write("p.toml", "# ours\nlisen = 'x'\nport = 'high'\nlog-level = 'loud'\n");
  Inputs inputs;
  inputs.flags = {{"config", file}};
  EXPECT_EQ(LoadFrom(inputs).error,
            file + ":2: unknown key \"lisen\"; did you mean \"listen\"?\n" + file +
                ":3: port = \"high\": expected a whole number from 1 to 65535\n" + file +
                ":4: log-level = \"loud\": expected one of debug, info, warn, error");
}

TEST(Load, AFileThatIsNamedMustExist) {
  Inputs inputs;
  inputs.environment["POLYBOX_CONFIG"] = "/no/such/file.toml";
  EXPECT_EQ(LoadFrom(inputs).error,
            "read settings: open /no/such/file.toml: No such file or directory");
}

TEST(Load, VariablesOfKubernetesServicesAreNotSettings) {
  Inputs inputs;
  inputs.environment = {
      {"POLYBOX_SERVICE_HOST", "10.0.0.1"},         {"POLYBOX_SERVICE_PORT", "80"},
      {"POLYBOX_SERVICE_PORT_HTTP", "80"},          {"POLYBOX_PORT", "tcp://10.0.0.1:80"},
      {"POLYBOX_PORT_80_TCP", "tcp://10.0.0.1:80"}, {"POLYBOX_PORT_80_TCP_ADDR", "10.0.0.1"},
      {"POLYBOX_PYTHON_PORT", "tcp://10.0.0.1:80"}, {"POLYBOX_PYTHON_PORT_80_TCP_PROTO", "tcp"},
      {"SANDBOX_PORT", "tcp://10.0.0.1:80"},
  };
  const Outcome outcome = LoadFrom(inputs);
  ASSERT_EQ(outcome.error, "");
  EXPECT_EQ(ListenAddress(outcome.loaded), "127.0.0.1:8080");
  inputs.environment["POLYBOX_PORT"] = "9090";
  EXPECT_EQ(ListenAddress(LoadFrom(inputs).loaded), "127.0.0.1:9090");
}

}  // namespace
}  // namespace polybox::config
