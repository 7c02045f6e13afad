#include "shells/event_log.h"

#include <gtest/gtest.h>

namespace polybox::shells {
namespace {

EventLog LogFor(std::vector<std::string> patterns) {
  return EventLog(ErrorPatterns::Compile(std::move(patterns)).value());
}

std::string Lines(const EventLog& log) {
  std::string text;
  for (const Event& event : log.Since(0)) text += event.matched + "=" + event.text + ";";
  return text;
}

TEST(EventLog, FindsLinesHoweverTheyArrive) {
  const std::string input = "ok\r\nError: a\r\nno Error: b\npanic: c\nError: last";
  for (std::size_t step = 1; step <= input.size(); ++step) {
    EventLog log = LogFor({"^Error:", "^panic:"});
    for (std::size_t i = 0; i < input.size(); i += step) log.Feed(input.substr(i, step));
    EXPECT_EQ(Lines(log), "^Error:=Error: a;^panic:=panic: c;") << step;
    log.FinishLine();
    EXPECT_EQ(log.last_id(), 3) << "the last line has no line feed";
  }
}

TEST(EventLog, TheFirstMatchingPatternIsNamed) {
  EventLog log = LogFor({"b", "a"});
  log.Feed("ab\n");
  EXPECT_EQ(Lines(log), "b=ab;");
}

TEST(EventLog, ALineWithoutAnEndIsHeldInPartAndDoesNotHideTheNext) {
  EventLog log = LogFor(DefaultErrorPatterns());
  for (int i = 0; i < 300; ++i) log.Feed(std::string(10'000, 'x'));
  log.Feed("uncaught\nError: next\n");
  EXPECT_EQ(Lines(log), "^Error:=Error: next;");
}

TEST(EventLog, TheOldestEventsAreDroppedAndCounted) {
  EventLog log = LogFor({"x"});
  for (int i = 0; i < 1025; ++i) log.Feed("x\n");
  EXPECT_EQ(log.dropped(), 102);
  EXPECT_EQ(log.Since(0).front().id, 103);
  EXPECT_EQ(log.last_id(), 1025);
  EXPECT_EQ(log.Since(1024).size(), 1U);
}

TEST(EventLog, PatternsThatCannotBeUsedAreNamed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> rows = {
      {std::vector<std::string>(33, "a"), "too many error_patterns (33 > 32)"},
      {{"a", ""}, "error_patterns[1] is empty"},
      {{"("}, "error_patterns[0] \"(\" failed to compile: missing ): ("},
  };
  for (const auto& [patterns, message] : rows) {
    EXPECT_EQ(ErrorPatterns::Compile(patterns).error().message(), message);
  }
  EXPECT_TRUE(ErrorPatterns::Compile({}).ok());
}

}  // namespace
}  // namespace polybox::shells
