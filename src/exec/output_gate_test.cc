#include "exec/output_gate.h"

#include <gtest/gtest.h>

namespace polybox::exec {
namespace {

class OutputGateTest : public testing::Test {
 protected:
  OutputGateTest()
      : gate_([this](StepKind step, Stream stream, std::string_view text) {
          passed_ += step == StepKind::kCompile ? "compile:" : "";
          passed_ += stream == Stream::kErr ? "err:" : "";
          passed_.append(text).append("|");
        }) {
    gate_.Expect({"/sandbox/a.js:", "file:///sandbox/a.js:"});
  }

  void Say(Stream stream, std::string_view text, StepKind step = StepKind::kRun) {
    gate_.Take(step, stream, text);
  }

  std::string passed_;
  OutputGate gate_;
};

TEST_F(OutputGateTest, OutputThatCanBeNoReportPassesAtOnce) {
  Say(Stream::kErr, "/sand");
  EXPECT_EQ(passed_, "") << "it may become one";
  Say(Stream::kErr, "wich\n");
  EXPECT_EQ(passed_, "err:/sand|err:wich\n|");
  Say(Stream::kOut, "more");
  EXPECT_EQ(passed_, "err:/sand|err:wich\n|more|");
}

TEST_F(OutputGateTest, StandardOutputIsNoReport) {
  Say(Stream::kErr, "/sandbox/a.js:1\n");
  Say(Stream::kOut, "x");
  EXPECT_EQ(passed_, "err:/sandbox/a.js:1\n|x|");
}

TEST_F(OutputGateTest, AReportIsDroppedWhenTheSecondLanguageRuns) {
  Say(Stream::kErr, "/sandbox/a.js:1\nSyntaxError");
  gate_.BeginSecond();
  Say(Stream::kErr, "note", StepKind::kCompile);
  EXPECT_EQ(passed_, "");
  Say(Stream::kOut, "hello");
  Say(Stream::kOut, "again");
  EXPECT_EQ(passed_, "compile:err:note|hello|again|");
}

TEST_F(OutputGateTest, AReportIsPassedWhenTheSecondLanguageRefusesAsWell) {
  Say(Stream::kErr, "file:///sandbox/a.js:1\nSyntaxError");
  gate_.BeginSecond();
  Say(Stream::kOut, "error TS1005", StepKind::kCompile);
  gate_.OpenFirst();
  EXPECT_EQ(passed_, "err:file:///sandbox/a.js:1\nSyntaxError|");
}

TEST_F(OutputGateTest, AReportWithoutASecondLanguageIsPassedAtTheEnd) {
  Say(Stream::kErr, "/sandbox/a.js:1\n");
  gate_.Open();
  EXPECT_EQ(passed_, "err:/sandbox/a.js:1\n|");
}

TEST_F(OutputGateTest, NotMoreThanAReportIsHeld) {
  Say(Stream::kErr, "/sandbox/a.js:1\n" + std::string(70000, 'x'));
  EXPECT_FALSE(passed_.empty());
}

}  // namespace
}  // namespace polybox::exec
