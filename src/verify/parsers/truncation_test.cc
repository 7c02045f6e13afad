// A run that broke off must never look green: the recorded outputs are cut, emptied and combined
// with other exit codes.
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "verify/parser.h"
#include "verify/testing/fixtures.h"

namespace polybox::verify {
namespace {

using testing::AllFixtures;
using testing::Fixture;

/// The stream of a fixture that holds the report. The text is empty for a clean list of lines.
struct Cuttable {
  const std::string* text;
  std::string_view ParserInput::* member;
};

Cuttable ReportOf(const Fixture& fixture) {
  if (!fixture.report.empty()) return {&fixture.report, &ParserInput::report};
  // Compilers and unittest write on standard error.
  const bool is_error_text = fixture.parser == "unittest" || fixture.parser == "gnu";
  if (is_error_text && fixture.out.empty()) return {&fixture.err, &ParserInput::err};
  return {&fixture.out, &ParserInput::out};
}

/// Returns the lengths to cut at: all of a short text; of a long one, the ends of lines, and some
/// others.
std::set<std::size_t> Cuts(std::string_view text) {
#ifdef __SANITIZE_THREAD__
  // The parsers start no thread, and with this sanitizer they take a hundred times as long.
  constexpr std::size_t kShort = 100;
  constexpr std::size_t kOthers = 20;
#else
  constexpr std::size_t kShort = 1500;
  constexpr std::size_t kOthers = 300;
#endif
  const std::size_t whole = text.find_last_not_of(" \t\r\n") + 1;
  std::set<std::size_t> cuts;
  const std::size_t step = whole <= kShort ? 1 : whole / kOthers;
  for (std::size_t at = 0; at < whole; at += step) cuts.insert(at);
  std::size_t lines = 0;
  for (std::size_t at = text.find('\n'); at < whole && lines < kOthers; at = text.find('\n', at)) {
    cuts.insert(++at);
    ++lines;
  }
  cuts.erase(whole);
  return cuts;
}

void ExpectReason(const Report& report, const std::string& where) {
  if (const auto* unreadable = std::get_if<Unreadable>(&report)) {
    EXPECT_FALSE(unreadable->reason.empty()) << where;
  }
}

TEST(ReadReport, NeverFindsACutReportClean) {
  for (const Fixture& fixture : AllFixtures()) {
    const Parser* parser = FindParser(fixture.parser);
    ASSERT_NE(parser, nullptr) << fixture.parser;
    const Cuttable stream = ReportOf(fixture);
    for (const std::size_t length : Cuts(*stream.text)) {
      ParserInput input = fixture.Input();
      const std::string cut = stream.text->substr(0, length);
      input.*stream.member = cut;
      const Report report = ReadReport(*parser, input);
      const std::string where = fixture.folder + " cut at " + std::to_string(length);
      ExpectReason(report, where);
      // Between two lines of a list nothing tells the cut, but the exit code tells that something
      // was found.
      const bool at_line = cut.empty() || cut.ends_with('\n');
      if (parser->ends != Ends::kMarked && at_line && fixture.exit_code == 0) continue;
      EXPECT_FALSE(IsClean(report)) << where;
    }
  }
}

TEST(ReadReport, FindsADocumentUnreadableThatWasCut) {
  for (const Fixture& fixture : AllFixtures()) {
    const Parser* parser = FindParser(fixture.parser);
    ASSERT_NE(parser, nullptr) << fixture.parser;
    if (parser->ends != Ends::kMarked || parser->kind == ParserKind::kTests) continue;
    const Cuttable stream = ReportOf(fixture);
    for (const std::size_t length : Cuts(*stream.text)) {
      ParserInput input = fixture.Input();
      const std::string cut = stream.text->substr(0, length);
      input.*stream.member = cut;
      EXPECT_TRUE(std::holds_alternative<Unreadable>(parser->parse(input)))
          << fixture.folder << " cut at " << length;
    }
  }
}

TEST(ReadReport, BelievesACleanReportOnlyWithExitCode0) {
  int clean = 0;
  for (const Fixture& fixture : AllFixtures()) {
    const Parser& parser = *FindParser(fixture.parser);
    ParserInput input = fixture.Input();
    if (!IsClean(ReadReport(parser, input))) continue;
    ++clean;
    for (const std::optional<int> code : {std::optional<int>(), {1}, {137}}) {
      input.exit_code = code;
      const Report report = ReadReport(parser, input);
      ASSERT_TRUE(std::holds_alternative<Unreadable>(report) || !IsClean(report)) << fixture.folder;
      ExpectReason(report, fixture.folder);
    }
  }
  EXPECT_GE(clean, 15) << "clean outputs of tools were recorded";
}

TEST(ReadReport, TakesNothingForNoReport) {
  for (const Parser& parser : AllParsers()) {
    for (const int code : {0, 1, 2}) {
      const Report report = ReadReport(parser, {.exit_code = code});
      ExpectReason(report, std::string(parser.name));
      // Lists of findings are empty when a tool found nothing; all other formats say so.
      const bool is_list = parser.ends != Ends::kMarked && parser.kind != ParserKind::kTests &&
                           parser.kind != ParserKind::kCoverage && parser.name != "regex" &&
                           parser.name != "go-vet-json";
      EXPECT_EQ(IsClean(report), is_list && code == 0) << parser.name << " with " << code;
    }
  }
}

TEST(ReadReport, TakesAPersonsTextForNoReport) {
  // What a script of a project prints in place of the tool's own format.
  const std::string text = "> shop@1.0.0 lint\n> eslint .\n\nAll good. 0 problems.\n";
  for (const Parser& parser : AllParsers()) {
    if (parser.ends != Ends::kMarked) continue;
    const Report report = ReadReport(parser, {.out = text, .err = text, .exit_code = 0});
    EXPECT_TRUE(std::holds_alternative<Unreadable>(report)) << parser.name;
  }
}

}  // namespace
}  // namespace polybox::verify
