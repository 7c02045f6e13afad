#include "obs/span_exporter.h"

#include <algorithm>
#include <mutex>
#include <poll.h>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/testing/await.h"
#include "base/unique_fd.h"

namespace polybox::obs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A collector on a port of the loopback. It takes each request whole and answers with `status`, or
/// never answers if the status is 0.
class Collector {
 public:
  explicit Collector(int status) : status_(status) {
    socket_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket_.get(), 8), 0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { Serve(stop); });
  }

  SpanExporterOptions options() const {
    SpanExporterOptions options;
    options.collector = ParseCollectorUrl("http://127.0.0.1:" + std::to_string(port_)).value();
    options.pause = milliseconds(1);
    return options;
  }
  /// All that came, headers included.
  std::string received() const {
    const std::lock_guard lock(mutex_);
    return received_;
  }

 private:
  void Serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd waiting = {socket_.get(), POLLIN, 0};
      if (::poll(&waiting, 1, 20) <= 0) continue;
      UniqueFd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (status_ == 0) {
        silent_.push_back(std::move(client));
        continue;
      }
      char buffer[65536];
      std::string request;
      while (!IsWhole(request)) {
        const ssize_t count = ::read(client.get(), buffer, sizeof buffer);
        if (count <= 0) break;
        request.append(buffer, static_cast<std::size_t>(count));
      }
      {
        // Before the answer: the exporter counts the spans when it has the answer.
        const std::lock_guard lock(mutex_);
        received_ += request;
      }
      const std::string answer =
          "HTTP/1.1 " + std::to_string(status_) + " X\r\nContent-Length: 0\r\n\r\n";
      EXPECT_GT(::send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL), 0);
    }
  }
  static bool IsWhole(const std::string& request) {
    const std::size_t head = request.find("\r\n\r\n");
    const std::size_t length = request.find("Content-Length: ");
    if (head == std::string::npos || length == std::string::npos) return false;
    return request.size() >= head + 4 + std::stoul(request.substr(length + 16));
  }

  const int status_;
  UniqueFd socket_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::string received_;
  std::vector<UniqueFd> silent_;
  std::jthread thread_;
};

ToolCall Call() {
  ToolCall call;
  call.tool = "Read";
  return call;
}

log::Logger Silent(std::ostringstream& out) {
  return log::Logger::ToStream(out, {});
}

TEST(SpanExporter, SendsEverySpanAndTheRestAtTheEnd) {
  const Collector collector(200);
  std::ostringstream log;
  {
    SpanExporter exporter(collector.options(), Silent(log));
    for (int i = 0; i < 10; ++i) exporter.Add(Call());
    EXPECT_TRUE(polybox::testing::Await([&] { return exporter.counts().sent == 10; }, seconds(50)));
    EXPECT_EQ(exporter.counts().failed + exporter.counts().dropped, 0U);
  }
  const std::string received = collector.received();
  EXPECT_TRUE(received.starts_with("POST /v1/traces HTTP/1.1\r\n")) << received;
  EXPECT_NE(received.find("\"name\":\"tool.Read\""), std::string::npos);
  EXPECT_EQ(log.str(), "");
}

TEST(SpanExporter, ATraceThatIsNotRecordedIsNotSent) {
  const Collector collector(200);
  std::ostringstream log;
  SpanExporter exporter(collector.options(), Silent(log));
  ToolCall unrecorded = Call();
  unrecorded.tool = "Secret";
  unrecorded.parent = ParseTraceParent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00");
  exporter.Add(unrecorded);
  exporter.Add(Call());
  EXPECT_TRUE(polybox::testing::Await([&] { return exporter.counts().sent == 1; }, seconds(50)));
  EXPECT_EQ(collector.received().find("Secret"), std::string::npos);
}

TEST(SpanExporter, ACollectorThatFailsIsToldOnceAndNoCallWaits) {
  const Collector collector(503);
  std::ostringstream log;
  {
    SpanExporter exporter(collector.options(), Silent(log));
    for (int i = 0; i < 3; ++i) {
      const std::uint64_t before = exporter.counts().failed;
      exporter.Add(Call());
      EXPECT_TRUE(
          polybox::testing::Await([&] { return exporter.counts().failed > before; }, seconds(50)));
    }
  }
  const std::string text = log.str();
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
  EXPECT_NE(text.find("503"), std::string::npos) << text;
}

TEST(SpanExporter, ASilentCollectorCostsSpansAndNoTime) {
  const Collector collector(0);
  std::ostringstream log;
  const auto begin = std::chrono::steady_clock::now();
  {
    SpanExporterOptions options = collector.options();
    options.waiting = 100;
    SpanExporter exporter(options, Silent(log));
    for (int i = 0; i < 10'000; ++i) exporter.Add(Call());
    EXPECT_GE(exporter.counts().dropped, 9000U);
  }
  // The end takes the flush time, not the time of a request for each batch.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(20));
}

TEST(CollectorUrlText, IsPlainHttpWithAPortOrWithout) {
  EXPECT_EQ(ParseCollectorUrl("http://localhost")->target.port, 4318);
  EXPECT_EQ(ParseCollectorUrl("http://localhost:80/otlp/")->path, "/otlp/v1/traces");
  EXPECT_EQ(ParseCollectorUrl("http://[::1]:4318")->path, "/v1/traces");
  for (const char* wrong :
       {"", "localhost:4318", "https://localhost:4318", "http://", "http://a b",
        "http://localhost:99999", "http://localhost/a?b", "http://x/\r\nA: b"}) {
    EXPECT_FALSE(ParseCollectorUrl(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace polybox::obs
