#include "shells/violations.h"

#include <csignal>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace polybox::shells {
namespace {

using machine::Violation;

std::string Short(const std::vector<Violation>& all) {
  std::string text;
  for (const Violation& each : all) {
    text +=
        fmt::format("{}{}{};", KindName(each.kind), each.subject.empty() ? "" : " ", each.subject);
  }
  return text;
}

TEST(Violations, TheWordsOfProgramsAreRecognised) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"curl: (6) Could not resolve host: example.com\n", "connection example.com;"},
      {"curl: (5) Could not resolve proxy: proxy.test\n", "connection proxy.test;"},
      {"npm error getaddrinfo ENOTFOUND registry.test\n", "connection registry.test;"},
      {"go: x: dial tcp: lookup proxy.test: no such host\n", "connection proxy.test;"},
      {"wget: unable to resolve host address ‘a.test’\n", "connection a.test;"},
      {"socket.gaierror: [Errno -3] Temporary failure in name resolution\n", "connection;"},
      {"connect: Network is unreachable\n", "connection;"},
      {"curl: (56) CONNECT tunnel failed, response 403\n", "connection;"},
      {"touch: cannot touch '/usr/x': Read-only file system\n", "write /usr/x;"},
      {"dd: error writing 'x': No space left on device\n", "disk;"},
      {"bash: fork: retry: Resource temporarily unavailable\n", "processes;"},
      {"RuntimeError: can't start new thread\n", "processes;"},
      {"MemoryError\n", "memory;"},
      {"FATAL ERROR: JavaScript heap out of memory\n", "memory;"},
      {"Bad system call (core dumped)\n", "system_call;"},
      {"all is well, in memory of space\n", ""},
      {"", ""},
  };
  for (const auto& [output, expected] : rows) {
    const std::vector<Violation> all = RecognisedIn(output);
    EXPECT_EQ(Short(all), expected) << output;
    for (const Violation& each : all) {
      EXPECT_EQ(each.source, Violation::Source::kRecognised);
      EXPECT_NE(each.fix, "") << output;
    }
  }
}

TEST(Violations, ASubjectIsNamedOnceAndTheirNumberIsBounded) {
  std::string output;
  for (int i = 0; i < 100; ++i) {
    output += fmt::format("Could not resolve host: h{}\n", i % 50);
  }
  EXPECT_EQ(RecognisedIn(output).size(), 8U);
  EXPECT_EQ(RecognisedIn("Could not resolve host: a\nCould not resolve host: a\n").size(), 1U);
}

jail::Outcome EndedBy(jail::End end, int signal = 0) {
  jail::Outcome outcome;
  outcome.end = end;
  outcome.signal = signal;
  return outcome;
}

TEST(Violations, TheEndOfACommandIsAnObservation) {
  jail::Outcome outcome;
  EXPECT_EQ(Short(ObservedIn(outcome)), "");
  outcome.oom_kills = 1;
  EXPECT_EQ(Short(ObservedIn(outcome)), "memory;");
  const std::vector<std::pair<jail::End, std::string>> rows = {
      {jail::End::kOutOfMemory, "memory;"},     {jail::End::kTimedOut, "time;"},
      {jail::End::kCpuLimit, "time;"},          {jail::End::kDiskLimit, "disk;"},
      {jail::End::kProcessLimit, "processes;"}, {jail::End::kCancelled, ""},
  };
  for (const auto& [end, expected] : rows) {
    EXPECT_EQ(Short(ObservedIn(EndedBy(end))), expected);
  }
  EXPECT_EQ(Short(ObservedIn(EndedBy(jail::End::kSignalled, SIGSYS))), "system_call;");
}

TEST(Violations, AnObservationMakesARecognitionSuperfluous) {
  std::vector<Violation> all = ObservedIn(EndedBy(jail::End::kOutOfMemory));
  AddNew(all, RecognisedIn("MemoryError\nNo space left on device\n"));
  EXPECT_EQ(Short(all), "memory;disk;");
}

}  // namespace
}  // namespace polybox::shells
