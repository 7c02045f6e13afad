#include "base/log.h"

#include <cmath>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

namespace polybox::log {
namespace {

static_assert(!std::is_constructible_v<Field, std::string_view, GuestBytes>,
              "what a guest wrote reaches the log only by Escaped()");

std::string Logged(const Options& options, void (*events)(const Logger&)) {
  std::ostringstream out;
  events(Logger::ToStream(out, options));
  return out.str();
}

TEST(Log, JsonLinesCarryTimeLevelMessageAndFields) {
  const std::string line = Logged({.format = Format::kJson}, [](const Logger& log) {
    log.With({{"request_id", "r1"}})
        .Info("run done", {{"exit_code", 3}, {"ok", true}, {"ms", 1.5}});
  });
  EXPECT_TRUE(std::regex_match(
      line,
      std::regex(R"(\{"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z","level":"info",)"
                 R"("message":"run done","request_id":"r1","exit_code":3,"ok":true,"ms":1.5\})"
                 "\n")))
      << line;
}

TEST(Log, NumbersStayValidJson) {
  const std::string line = Logged({.format = Format::kJson}, [](const Logger& log) {
    log.Info("numbers", {{"nan", std::nan("")}, {"large", ~std::uint64_t{0}}, {"low", -1}});
  });
  EXPECT_NE(line.find(R"("nan":null,"large":18446744073709551615,"low":-1)"), std::string::npos)
      << line;
}

TEST(Log, TextIsReadableAndOneLinePerEvent) {
  const std::string line = Logged({.format = Format::kText}, [](const Logger& log) {
    log.Warn("odd\nname", {{"path", "a \"b\"\nc"}});
  });
  EXPECT_NE(line.find(R"(warning odd\nname path="a \"b\"\nc")"), std::string::npos) << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
}

TEST(Log, LinesBelowTheLevelAreNotWritten) {
  const auto events = [](const Logger& log) {
    log.Debug("quiet");
    log.Info("quiet");
    log.Error("loud");
  };
  const std::string text = Logged({.level = Level::kWarn}, events);
  EXPECT_EQ(text.find("quiet"), std::string::npos);
  EXPECT_NE(text.find("loud"), std::string::npos);
}

TEST(Log, LevelsAreReadByName) {
  EXPECT_EQ(ParseLevel("debug"), Level::kDebug);
  EXPECT_EQ(ParseLevel("error"), Level::kError);
  EXPECT_EQ(ParseLevel("loud"), std::nullopt);
}

TEST(Log, WithLeavesTheOriginalAlone) {
  const std::string line = Logged({}, [](const Logger& log) {
    (void)log.With({{"request_id", "r1"}});
    log.Info("plain");
  });
  EXPECT_EQ(line.find("request_id"), std::string::npos);
}

}  // namespace
}  // namespace polybox::log
