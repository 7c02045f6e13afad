#include "schema/reader.h"

#include <gtest/gtest.h>

namespace polybox::schema {
namespace {

struct Settings {
  std::string name;
  std::int64_t count = 0;
  Bytes memory;
  Duration wait{};
  std::vector<std::string> words;
  std::vector<int> codes;
  std::map<std::string, std::string> env;
  std::string colour;
  std::vector<std::string> managers;
};

void ReadSettings(Reader& reader, Settings& out) {
  reader.Read("name", out.name, Need::kRequired);
  reader.Read("count", out.count);
  Reader limits = reader.Sub("limits");
  limits.Read("memory", out.memory, Need::kRequired);
  limits.Read("wait", out.wait);
  reader.ReadSome("words", out.words);
  reader.Read("codes", out.codes);
  reader.Read("env", out.env);
  reader.Read("colour", out.colour, Need::kOptional, OneOf({"red", "green"}));
  for (Reader& manager : reader.SubList("managers")) {
    manager.Read("name", out.managers.emplace_back(), Need::kRequired);
  }
}

/// Returns the problems of `text`, "" when there are none.
std::string Complaints(const std::string& text, Settings* out = nullptr) {
  const Result<Table> table = ParseToml(text, "x.toml");
  if (!table.ok()) return table.error().message();
  Problems problems("x.toml");
  Settings settings;
  {
    Reader reader(*table, problems);
    ReadSettings(reader, settings);
  }
  if (out != nullptr) *out = settings;
  const Status status = problems.ToStatus();
  return status.ok() ? "" : status.error().message();
}

TEST(Reader, ReadsEveryType) {
  Settings settings;
  EXPECT_EQ(Complaints(R"(
name = "n"
count = 3
words = ["a", "b"]
codes = [0, 101]
colour = "red"
[limits]
memory = "64MiB"
wait = "1.5s"
[env]
A = "1"
[[managers]]
name = "one"
[[managers]]
name = "two"
)",
                       &settings),
            "");
  EXPECT_EQ(settings.name, "n");
  EXPECT_EQ(settings.count, 3);
  EXPECT_EQ(settings.memory, Bytes::MiB(64));
  EXPECT_EQ(settings.wait, std::chrono::milliseconds(1500));
  EXPECT_EQ(settings.words, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(settings.codes, (std::vector<int>{0, 101}));
  EXPECT_EQ(settings.env.at("A"), "1");
  EXPECT_EQ(settings.managers, (std::vector<std::string>{"one", "two"}));
}

struct Case {
  const char* text;
  const char* complaint;
};

TEST(Reader, SaysFileLineKeyValueAndWhatIsAllowed) {
  const Case cases[] = {
      {"name = 1", "x.toml:1: name = 1: expected a string"},
      {"name = 'n'\ncount = 1.5", "x.toml:2: count = 1.5: expected a whole number"},
      {"name = 'n'\ncount = 2020-01-01",
       "x.toml:2: count = a date or time: expected a whole number"},
      {"name = 'n'\n[limits]\nmemory = 64",
       "x.toml:3: limits.memory = 64: expected a size with its unit, such as \"64MiB\" (B, KiB, "
       "MiB, "
       "GiB)"},
      {"name = 'n'\n[limits]\nmemory = '64'",
       "x.toml:3: limits.memory = \"64\": expected a size with its unit, such as \"64MiB\" (B, "
       "KiB, "
       "MiB, GiB)"},
      {"name = 'n'\n[limits]\nmemory = '1B'\nwait = '5'",
       "x.toml:4: limits.wait = \"5\": expected a time with its unit, such as \"30s\" (ms, s, m, "
       "h)"},
      {"name = 'n'\nwords = 'a'", "x.toml:2: words = \"a\": expected a list of strings"},
      {"name = 'n'\nwords = []", "x.toml:2: words = []: expected at least one string"},
      {"name = 'n'\nwords = [\n 'a',\n 1]", "x.toml:4: words = 1: expected a list of strings"},
      {"name = 'n'\ncodes = [256]", "x.toml:2: codes = 256: expected exit codes from 0 to 255"},
      {"name = 'n'\nenv = {A = 1}", "x.toml:2: env.A = 1: expected a string"},
      {"name = 'n'\ncolour = 'rad'",
       "x.toml:2: colour = \"rad\": expected one of red, green; did you mean \"red\"?"},
      {"name = 'n'\ncolour = true",
       "x.toml:2: colour = true: expected a string: one of red, green"},
      {"name = 'n'\nlimits = 3", "x.toml:2: limits = 3: expected a table [limits]"},
      {"name = 'n'\nmanagers = 3", "x.toml:2: managers = 3: expected tables [[managers]]"},
      {"name = 'n'\n[[managers]]\n", "x.toml:2: missing key \"managers.name\""},
      {"name = 'n'\n[limits]\n", "x.toml:2: missing key \"limits.memory\""},
      {"", "x.toml:1: missing key \"name\""},
  };
  for (const Case& c : cases) EXPECT_EQ(Complaints(c.text), c.complaint) << c.text;
}

TEST(Reader, AnUnknownKeyComesBeforeTheMissingOneItCauses) {
  EXPECT_EQ(Complaints("count = 'x'\nnmae = 'n'"),
            "x.toml:2: unknown key \"nmae\"; did you mean \"name\"?\n"
            "x.toml:1: count = \"x\": expected a whole number\n"
            "x.toml:1: missing key \"name\"");
  EXPECT_EQ(Complaints("name = 'n'\n[limits]\nmemory = '1B'\nbanana = 1"),
            "x.toml:4: unknown key \"limits.banana\"");
  EXPECT_EQ(Complaints("name = 'n'\n\"a\\u001b[31m\" = 1"),
            "x.toml:2: unknown key \"a\\u001b[31m\"");
}

TEST(Reader, ASyntaxErrorHasItsLine) {
  EXPECT_EQ(Complaints("name = 'n'\ncount = = 3").substr(0, 9), "x.toml:2:");
}

TEST(Reader, DescribesItsKeys) {
  std::vector<std::string> keys;
  {
    Reader reader(keys);
    Settings unused;
    ReadSettings(reader, unused);
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"name", "count", "limits", "limits.memory",
                                            "limits.wait", "words", "codes", "env", "colour",
                                            "managers", "managers.name"}));
}

}  // namespace
}  // namespace polybox::schema
