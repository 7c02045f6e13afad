#include "verify/command_text.h"

#include <gtest/gtest.h>

namespace polybox::verify {
namespace {

TEST(CommandText, WordsReachTheProgramAsTheyAre) {
  EXPECT_EQ(CommandText({.argv = {"go", "test", "a b", "", "it's", "$x"}}, "1"),
            "exec go test 'a b' '' 'it'\\''s' '$x'\n");
}

TEST(CommandText, MissingProgramsAndDirectoriesOfTheProjectComeFirst) {
  const Plan plan = {.argv = {"t"}, .binaries = {"t", "u"}, .path = {".venv/bin", "x y"}};
  EXPECT_EQ(CommandText(plan, "1"),
            "PATH=\"$PWD\"/'.venv/bin':\"$PWD\"/'x y':$PATH\n"
            "for program in 't' 'u'; do type -P -- \"$program\" >/dev/null || exit 127; done\n"
            "exec t\n");
  EXPECT_EQ(MissingText(plan),
            "PATH=\"$PWD\"/'.venv/bin':\"$PWD\"/'x y':$PATH\n"
            "for program in 't' 'u'; do type -P -- \"$program\" >/dev/null || "
            "printf '%s\\n' \"$program\"; done\n:\n");
}

TEST(CommandText, AReportIsInADirectoryOfItsOwnOutsideTheProject) {
  const Plan plan = {.argv = {"t", "--out={report}"}, .report = "{report}"};
  EXPECT_EQ(CommandText(plan, "7f"),
            "export POLYBOX_REPORT=\"${TMPDIR:-/tmp}/polybox-report-7f/report\"\n"
            "mkdir -m 700 -- \"${POLYBOX_REPORT%/*}\" || exit\n"
            "exec t --out=\"$POLYBOX_REPORT\"\n");
  EXPECT_EQ(ReportText(plan, "7f"),
            "POLYBOX_REPORT=\"${TMPDIR:-/tmp}/polybox-report-7f/report\"\n"
            "[ -f \"$POLYBOX_REPORT\" ] && cat -- \"$POLYBOX_REPORT\"\nstatus=$?\n"
            "rm -rf -- \"${POLYBOX_REPORT%/*}\"\nexit \"$status\"\n");
  EXPECT_EQ(ReportText({.report = "a b.xml"}, "7f"),
            "[ -f './a b.xml' ] && exec cat -- './a b.xml'\n");
}

TEST(CommandText, PeopleSeeTheCommandAsTheyWouldTypeIt) {
  EXPECT_EQ(ShownCommand({"pytest", "--junit-xml={report}", "-k", "a or b"}),
            "pytest --junit-xml=$POLYBOX_REPORT -k 'a or b'");
  EXPECT_EQ(ShownCommand({"sh", "-c", "first line\nsecond line\n"}), "sh -c 'first line ...'");
}

}  // namespace
}  // namespace polybox::verify
