#include "http/serve.h"

#include <csignal>
#include <fcntl.h>
#include <future>
#include <sstream>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/signalfd.h>

#include "base/testing/await.h"
#include "base/testing/temp_dir.h"
#include "http/banner.h"
#include "http/doors/ready.h"
#include "http/measured_executor.h"
#include "http/testing/idle_executor.h"
#include "http/testing/raw_client.h"

namespace polybox::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::RawClient;

/// A server whose only route submits to an executor that never finishes a request by itself.
class ServeTest : public ::testing::Test {
 protected:
  ServeTest() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    signals_ = UniqueFd(ends[0]);
    sender_ = UniqueFd(ends[1]);
  }
  ~ServeTest() override {
    if (!result_.valid()) return;
    Signal(SIGTERM);
    Signal(SIGTERM);
    result_.wait();
  }

  ServeParts Parts() {
    Door door{.name = "runs", .routes = {}, .refuse = nullptr, .fault_prefixes = {}};
    door.routes.push_back({"POST", "/execute",
                           [this](const std::shared_ptr<Exchange>& exchange) {
                             auto ticket = measured_.Submit({}, [exchange](const exec::Answer& a) {
                               const bool ran = std::holds_alternative<exec::Report>(a);
                               exchange->Respond({.status = ran ? 200 : 503,
                                                  .content_type = "text/plain",
                                                  .body = ran ? "ran" : "cancelled",
                                                  .headers = {}});
                             });
                             exchange->OnDisconnect([ticket] { ticket->Cancel(); });
                           },
                           0});
    ServeParts parts{.server = {},
                     .listen = {.tcp = "127.0.0.1:0", .unix_socket = ""},
                     .executor = measured_,
                     .metrics = metrics_,
                     .readiness = readiness_,
                     .drain_time = seconds(10),
                     .signals = signals_.get(),
                     .started = [this](const std::vector<std::string>& addresses) {
                       addresses_.set_value(addresses);
                     }};
    parts.server.doors = {door, MakeReadyDoor(readiness_)};
    return parts;
  }
  void Start(ServeParts parts) {
    result_ = std::async(std::launch::async,
                         [this, parts = std::move(parts)] { return Serve(parts, log_); });
    address_ = addresses_.get_future().get().at(0);
  }
  void Signal(int number) const {
    signalfd_siginfo info{};
    info.ssi_signo = static_cast<std::uint32_t>(number);
    EXPECT_EQ(::write(sender_.get(), &info, sizeof info), ssize_t{sizeof info});
  }
  /// Returns a client whose request is running.
  RawClient Running() {
    RawClient client(address_);
    client.Send("POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
    EXPECT_TRUE(polybox::testing::Await([&] { return executor_.Load(0).running > 0; }));
    return client;
  }
  ServeEnd Result() {
    const auto ended = result_.get();
    EXPECT_TRUE(ended.ok());
    return *ended;
  }
  std::string Log() const { return log_text_.str(); }

  std::ostringstream log_text_;
  log::Logger log_ = log::Logger::ToStream(log_text_, {});
  UniqueFd signals_;
  UniqueFd sender_;
  testing::IdleExecutor executor_;
  obs::Metrics metrics_;
  MeasuredExecutor measured_{executor_, metrics_, {{.name = "execute"}}};
  std::shared_ptr<Readiness> readiness_ = std::make_shared<Readiness>(Readiness::Options{});
  std::promise<std::vector<std::string>> addresses_;
  std::future<polybox::Result<ServeEnd>> result_;
  std::string address_;
};

TEST_F(ServeTest, ASignalLetsWhatRunsFinish) {
  Start(Parts());
  RawClient client = Running();
  Signal(SIGTERM);
  EXPECT_TRUE(polybox::testing::Await([&] { return executor_.draining.load(); }));
  EXPECT_FALSE(client.HasNews(100)) << "what runs goes on";
  EXPECT_TRUE(readiness_->draining());
  RawClient probe(address_);
  probe.Send("GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(probe.Read().status, 503);
  RawClient late(address_);
  late.Send("POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(late.Read().status, 503);
  executor_.Answer(exec::Report{});
  EXPECT_EQ(client.Read().body, "ran");
  EXPECT_EQ(Result(), ServeEnd::kDrained);
  EXPECT_FALSE(executor_.cancelled);
}

TEST_F(ServeTest, ARequestThatRunsTooLongIsCancelledAndItsClientIsTold) {
  ServeParts parts = Parts();
  parts.drain_time = milliseconds(100);
  Start(std::move(parts));
  RawClient client = Running();
  Signal(SIGTERM);
  EXPECT_EQ(client.Read().body, "cancelled");
  EXPECT_EQ(Result(), ServeEnd::kCancelled);
}

TEST_F(ServeTest, ASecondSignalEndsItAtOnce) {
  Start(Parts());
  const RawClient client = Running();
  Signal(SIGINT);
  EXPECT_TRUE(polybox::testing::Await([&] { return executor_.draining.load(); }));
  const auto before = std::chrono::steady_clock::now();
  Signal(SIGINT);
  EXPECT_EQ(Result(), ServeEnd::kInterrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - before, seconds(3));
}

TEST_F(ServeTest, RequestsAreCountedAndLoggedWithoutTheirContent) {
  Start(Parts());
  RawClient client(address_);
  client.Send(
      "POST /execute HTTP/1.1\r\nHost: localhost\r\nX-Request-ID: r-1\r\nAuthorization: Bearer "
      "hush\r\nContent-Length: 6\r\n\r\nsecret");
  EXPECT_TRUE(polybox::testing::Await([&] { return executor_.Answer(exec::Report{}); }));
  EXPECT_EQ(client.Read().status, 200);
  client.Close();
  Signal(SIGTERM);
  Result();
  EXPECT_NE(Log().find("\"id\":\"r-1\",\"method\":\"POST\",\"path\":\"/execute\",\"status\":200,"
                       "\"language\":\"\",\"outcome\":\"answered\",\"bytes_in\":6,"),
            std::string::npos)
      << Log();
  EXPECT_EQ(Log().find("secret"), std::string::npos);
  EXPECT_EQ(Log().find("hush"), std::string::npos);
  const std::string page = metrics_.Render();
  EXPECT_NE(
      page.find("polybox_http_requests_total{door=\"runs\",route=\"/execute\",status=\"200\"} 1"),
      std::string::npos)
      << page;
  EXPECT_NE(page.find("polybox_runs_total{language=\"\",door=\"execute\",outcome=\"nothing\"} 1"),
            std::string::npos)
      << page;
}

TEST_F(ServeTest, ReadinessNeedsNoTokenAndARunDoes) {
  ServeParts parts = Parts();
  parts.server.tokens = *Tokens::Parse("0123456789abcdef\n");
  Start(std::move(parts));
  RawClient client(address_);
  client.Send("GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.Read().body, "{\"status\":\"ready\"}\n");
  client.Send("POST /execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(client.Read().status, 401);
  readiness_->Drain();
  client.Send("GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const testing::Answer answer = client.Read();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body,
            "{\"status\":\"not ready\",\"reasons\":[\"the server is about to end\"]}\n");
}

TEST_F(ServeTest, TheSecondPortAndTheSocketServeTheSame) {
  const polybox::testing::TempDir dir;
  // Returns a port that was free a moment ago.
  const UniqueFd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in free{};
  free.sin_family = AF_INET;
  free.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(probe.get(), reinterpret_cast<sockaddr*>(&free), sizeof free), 0);
  socklen_t size = sizeof free;
  ASSERT_EQ(::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&free), &size), 0);
  const int port = ntohs(free.sin_port);
  const_cast<UniqueFd&>(probe).reset();
  ServeParts parts = Parts();
  parts.listen.runtime_port = port;
  parts.listen.unix_socket = dir.path() + "/s";
  Start(std::move(parts));
  const std::string request = "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  RawClient second("127.0.0.1:" + std::to_string(port));
  second.Send(request);
  EXPECT_EQ(second.Read().status, 200);
  RawClient local = RawClient::Unix(dir.path() + "/s");
  local.Send(request);
  EXPECT_EQ(local.Read().status, 200);
}

TEST(Exposure, AnOpenAddressNeedsATokenOrAWord) {
  const Tokens none;
  const Tokens some = *Tokens::Parse("0123456789abcdef\n");
  for (const char* loopback : {"127.0.0.1:80", "127.1.2.3:80", "[::1]:80", "localhost:80"}) {
    EXPECT_TRUE(CheckExposure({.tcp = loopback, .unix_socket = ""}, none).ok()) << loopback;
  }
  for (const char* open : {"0.0.0.0:80", "[::]:80", "10.0.0.1:80", "[::ffff:10.0.0.1]:80"}) {
    const Status refused = CheckExposure({.tcp = open, .unix_socket = ""}, none);
    ASSERT_FALSE(refused.ok()) << open;
    EXPECT_NE(refused.error().fix().find("--token-file"), std::string::npos);
    EXPECT_TRUE(CheckExposure({.tcp = open, .unix_socket = ""}, some).ok());
    EXPECT_TRUE(CheckExposure({.tcp = open, .unix_socket = "", .insecure = true}, none).ok());
  }
}

TEST(Signals, AreReadInsteadOfKilling) {
  const Result<UniqueFd> signals = StopSignals();
  ASSERT_TRUE(signals.ok());
  ASSERT_EQ(::kill(::getpid(), SIGTERM), 0);
  signalfd_siginfo info{};
  ASSERT_EQ(::read(signals->get(), &info, sizeof info), ssize_t{sizeof info});
  EXPECT_EQ(info.ssi_signo, std::uint32_t{SIGTERM});
}

TEST(Readiness, AFullDiskOfTheCacheIsToldAndStandsAgainstNothing) {
  const polybox::testing::TempDir dir;
  EXPECT_TRUE(Readiness({.cache_dir = dir.path() + "/not/yet/made"}).Look().remarks.empty());
  const Readiness full({.cache_dir = dir.path(), .least_free = Bytes(1ULL << 62U)});
  EXPECT_EQ(full.Look().remarks, std::vector<std::string>{"the disk of the cache is full"});
  EXPECT_TRUE(full.Look().obstacles.empty());
}

TEST(Readiness, AServerInWhichNoProgramCanRunIsNotReady) {
  Readiness readiness({});
  EXPECT_TRUE(readiness.Look().obstacles.empty());
  readiness.SetTrial(Error(ErrorKind::kSystem, "make a slot: make /tmp/x: Read-only file system"));
  EXPECT_EQ(readiness.Look().obstacles,
            std::vector<std::string>{
                "no program can run: make a slot: make a path: Read-only file system"});
  readiness.SetTrial({});
  EXPECT_TRUE(readiness.Look().obstacles.empty());
}

TEST(Readiness, ATrialWaitsUntilSomebodyAsks) {
  Readiness readiness({});
  std::atomic<int> questions = 0;
  std::jthread trials([&](const std::stop_token& stop) {
    while (readiness.AwaitQuestion(stop, {Duration::zero(), std::chrono::hours(1)})) {
      ++questions;
    }
  });
  EXPECT_EQ(questions, 0);
  readiness.Look();
  while (questions == 0) std::this_thread::yield();
}

TEST(Readiness, AProgramIsTriedNowAndThenThoughNobodyAsks) {
  const Readiness readiness({});
  const std::stop_source stop;
  EXPECT_TRUE(readiness.AwaitQuestion(stop.get_token(), {Duration::zero(), Duration(1)}));
}

TEST(Readiness, PathsAreNotTold) {
  EXPECT_EQ(WithoutPaths("open /a/b: No such file"), "open a path: No such file");
  EXPECT_EQ(WithoutPaths("build the root (show /usr from /usr, by descriptor): no"),
            "build the root (show a path from a path, by descriptor): no");
  EXPECT_EQ(WithoutPaths("/x and/or y"), "a path and/or y");
}

TEST(MeasuredExecutor, RefusalsAreCountedByTheirReasonAndTheRunGaugesAreLive) {
  testing::IdleExecutor executor;
  obs::Metrics metrics;
  MeasuredExecutor measured(executor, metrics, {{.name = "execute"}, {.name = "run"}});
  AddRunGauges(metrics, measured, 1, {.name = "run", .concurrency = 10, .queue = 50});
  exec::Request request;
  request.lane = 1;
  request.work = exec::Program{.language = "whatever a client wrote", .files = {}};
  int answers = 0;
  measured.Submit(std::move(request), [&answers](const exec::Answer&) { ++answers; });
  std::string page = metrics.Render();
  for (const char* line : {"\nsandbox_concurrency_active 1\n", "\nsandbox_queue_length 3\n",
                           "\nsandbox_concurrency_max 10\n", "\nsandbox_queue_max 50\n"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line << page;
  }
  executor.Answer(exec::Refusal{.kind = exec::RefusalKind::kUnavailable, .message = ""});
  EXPECT_EQ(answers, 1);
  page = metrics.Render();
  EXPECT_NE(page.find("polybox_refusals_total{door=\"run\",reason=\"unavailable\"} 1"),
            std::string::npos);
  EXPECT_EQ(page.find("whatever"), std::string::npos);
}

TEST(Banner, SaysWhereWhatAndHowToTry) {
  BannerFacts facts{.version = "1.2",
                    .addresses = {"0.0.0.0:8080", "0.0.0.0:8888"},
                    .mode = "shell",
                    .languages = {"bash", "go"},
                    .isolation = "full",
                    .token_file = "",
                    .example = "echo 'a \"b\"'",
                    .example_language = "bash",
                    .example_file = "main.sh"};
  EXPECT_EQ(Banner(facts), R"(polybox 1.2
  listens on   0.0.0.0:8080, 0.0.0.0:8888
  mode         shell
  languages    bash, go
  isolation    full
Try:
  curl http://127.0.0.1:8080/health
  curl http://127.0.0.1:8080/execute -d '{"code": "echo '\''a \"b\"'\''"}'
  curl http://127.0.0.1:8080/v1/run -H 'Content-Type: application/json' -d '{"runtime": "bash", "files": [{"name": "main.sh", "content": "echo '\''a \"b\"'\''"}]}'
)");
  facts.open_to_all = true;
  EXPECT_NE(
      Banner(facts).find("  isolation    full\n  WARNING      no token is asked for: anyone who "
                         "reaches that address can run programs here\nTry:"),
      std::string::npos)
      << Banner(facts);
  facts.token_file = "/etc/tokens";
  facts.addresses = {"[::]:80"};
  EXPECT_NE(Banner(facts).find("curl http://[::1]:80/execute -H \"X-Polybox-Token: $(grep -v '^#' "
                               "'/etc/tokens' | grep -m 1 .)\" -d"),
            std::string::npos)
      << Banner(facts);
}

}  // namespace
}  // namespace polybox::http
