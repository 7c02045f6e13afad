// Compares what the parsers read from recorded outputs of real tools with the expected reports.
// With POLYBOX_WRITE_GOLDEN=1 in the environment, the expected reports are written instead.
#include "verify/testing/fixtures.h"

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "languages/parse.h"
#include "verify/parser.h"
#include "verify/report_json.h"

namespace polybox::verify {
namespace {

using testing::AllFixtures;
using testing::Fixture;

TEST(Fixtures, EachGivesTheExpectedReport) {
  for (const Fixture& fixture : AllFixtures()) {
    const Parser* parser = FindParser(fixture.parser);
    ASSERT_NE(parser, nullptr) << fixture.parser;
    const std::string expected = fixture.folder + "/expected.json";
    const std::string report = testing::Pretty(ToJson(ReadReport(*parser, fixture.Input()))) + "\n";
    if (std::getenv("POLYBOX_WRITE_GOLDEN") != nullptr) {
      std::ofstream(expected, std::ios::binary) << report;
    }
    EXPECT_EQ(report, testing::ReadIfThere(expected)) << fixture.folder;
  }
}

TEST(Fixtures, EveryParserOfAFormatHasOne) {
  // The first two have no format of their own; for the others see unrecorded_test.cc.
  std::set<std::string> recorded = {"exit-status", "regex", "nextest-json", "phpstan-json"};
  for (const Fixture& fixture : AllFixtures()) recorded.insert(fixture.parser);
  for (const Parser& parser : AllParsers()) {
    EXPECT_TRUE(recorded.contains(std::string(parser.name))) << parser.name;
  }
}

TEST(ParserTable, HasTheNamesThatLanguageFilesMayUse) {
  std::vector<std::string_view> names;
  for (const Parser& parser : AllParsers()) names.push_back(parser.name);
  EXPECT_EQ(names, languages::ParserNames());
}

TEST(ParserTable, FindsAParserByItsName) {
  ASSERT_NE(FindParser("tsc"), nullptr);
  EXPECT_EQ(FindParser("tsc")->name, "tsc");
  EXPECT_EQ(FindParser("no-such-parser"), nullptr);
}

}  // namespace
}  // namespace polybox::verify
