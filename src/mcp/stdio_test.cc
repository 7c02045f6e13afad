#include "mcp/stdio.h"

#include <csignal>
#include <fcntl.h>
#include <future>
#include <sstream>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "base/unique_fd.h"
#include "mcp/testing/client.h"

namespace polybox::mcp {
namespace {

using testing::Modern;

struct Pipe {
  UniqueFd read;
  UniqueFd write;

  Pipe() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) == 0) {
      read = UniqueFd(ends[0]);
      write = UniqueFd(ends[1]);
    }
  }
};

/// A server on two pipes, in a thread.
class StdioTest : public ::testing::Test {
 protected:
  StdioTest() {
    ::signal(SIGPIPE, SIG_IGN);
    end_ = std::async(std::launch::async, [this] {
      const StdioEnd end = ServeStdio({.dispatcher = dispatcher_,
                                       .context = {.principal = "stdio"},
                                       .in = in_.read.get(),
                                       .out = out_.write.get(),
                                       .signals = signals_.get(),
                                       .largest_message = Bytes::KiB(1)},
                                      calls_, log_);
      out_.write.reset();
      return end;
    });
  }

  void Send(const std::string& text) {
    ASSERT_EQ(::write(in_.write.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  /// Returns everything that the server writes up to its end.
  std::string Rest() {
    std::string text;
    char buffer[4096];
    for (ssize_t count = 0; (count = ::read(out_.read.get(), buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
  }

  std::ostringstream lines_;
  log::Logger log_ = log::Logger::ToStream(lines_, {});
  Dispatcher dispatcher_{{.tools = tools::testing::SampleRegistry(), .version = "1"}, log_};
  /// All calls of a test may wait at once, so no test depends on how fast they are answered.
  CallPool calls_{CallLimits{.waiting = 1000}};
  Pipe in_;
  Pipe out_;
  UniqueFd signals_{::eventfd(0, EFD_CLOEXEC)};
  std::future<StdioEnd> end_;
};

TEST_F(StdioTest, AnswersWhatWasAskedBeforeTheEndOfTheInput) {
  Send(Modern(1, "tools/call", R"("name":"echo","arguments":{"text":"hi"})") + "\n");
  Send(std::string(2000, 'x') + "\n");
  Send(R"({"jsonrpc":"2.0","id":2,"method":"ping"})");
  in_.write.reset();
  const std::string text = Rest();
  EXPECT_NE(text.find(R"("text":"hi")"), std::string::npos) << text;
  EXPECT_NE(text.find("the message is longer than 1KiB"), std::string::npos) << text;
  EXPECT_NE(text.find(R"({"jsonrpc":"2.0","id":2,"result":{}})"), std::string::npos) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  EXPECT_EQ(end_.get(), StdioEnd::kFinished);
}

TEST_F(StdioTest, ASignalStopsRunningCalls) {
  Send(Modern(1, "tools/call", R"("name":"wait")") + "\n");
  ::eventfd_write(signals_.get(), 1);
  EXPECT_EQ(end_.get(), StdioEnd::kFinished);
}

TEST_F(StdioTest, AClientThatClosesTheOutputEndsTheServer) {
  Send(Modern(1, "tools/call", R"("name":"wait")") + "\n");
  out_.read.reset();
  Send(R"({"jsonrpc":"2.0","id":2,"method":"ping"})" + std::string("\n"));
  EXPECT_EQ(end_.get(), StdioEnd::kFinished);
}

TEST_F(StdioTest, AClientMaySendManyRequestsBeforeItReads) {
  // Together the answers are longer than what a pipe holds.
  for (int id = 1; id <= 300; ++id) {
    Send(Modern(id, "tools/call", R"("name":"echo","arguments":{"times":1000,"text":"x"})") + "\n");
  }
  in_.write.reset();
  const std::string text = Rest();
  EXPECT_EQ(std::ranges::count(text, '\n'), 300);
  EXPECT_EQ(text.find("error"), std::string::npos);
  EXPECT_EQ(end_.get(), StdioEnd::kFinished);
}

}  // namespace
}  // namespace polybox::mcp
