#include "http/server.h"

#include <atomic>
#include <future>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing/temp_dir.h"
#include "http/testing/server_fixture.h"

namespace polybox::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Answer;
using testing::RawClient;
using testing::Record;
using testing::ServerTest;

TEST_F(ServerTest, AnswersSeveralRequestsOfOneConnection) {
  Start();
  RawClient client(address_);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.Send(Get("/hello")));
    const Answer answer = client.Read();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "hello");
    EXPECT_EQ(answer.Header("Content-Type"), "text/plain");
    EXPECT_EQ(answer.Header("Connection"), "");
  }
  EXPECT_EQ(server_->connections(), 1U);
}

TEST_F(ServerTest, ClosesWhenTheClientAsksOrSpeaksHttp10) {
  Start();
  RawClient polite(address_);
  polite.Send(Get("/hello", "Connection: close\r\n"));
  EXPECT_EQ(polite.Read().Header("Connection"), "close");
  EXPECT_TRUE(polite.ClosedWithin(1000));
  RawClient old(address_);
  old.Send("GET /hello HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(old.Read().head.substr(0, 15), "HTTP/1.0 200 OK");
  EXPECT_TRUE(old.ClosedWithin(1000));
  RawClient kept(address_);
  kept.Send("GET /hello HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(kept.Read().Header("Connection"), "keep-alive");
  kept.Send("GET /hello HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(kept.Read().status, 200);
}

TEST_F(ServerTest, PipelinedRequestsAreAnsweredInOrderOneAtATime) {
  Start();
  RawClient client(address_);
  client.Send(Get("/held") + Post("/echo", "second") + Get("/hello"));
  const auto first = held_.Take();
  EXPECT_FALSE(client.HasNews(50)) << "nothing may overtake the first answer";
  first->Respond(testing::Text(200, "first"));
  EXPECT_EQ(client.Read().body, "first");
  EXPECT_EQ(client.Read().body, "second");
  EXPECT_EQ(client.Read().body, "hello");
}

TEST_F(ServerTest, ManyPipelinedRequestsBehindAHeldOneAreAllAnswered) {
  Start();
  RawClient client(address_);
  std::string requests = Get("/held");
  // More bytes than the server reads ahead, which are 64 KiB.
  for (int i = 0; i < 200; ++i) requests += Post("/echo", std::string(900, 'x'));
  std::thread sender([&] { client.Send(requests); });
  const auto first = held_.Take();
  EXPECT_TRUE(IsRead(client, std::size_t{64} << 10U));
  first->Respond(testing::Text(200, "first"));
  EXPECT_EQ(client.Read().body, "first");
  for (int i = 0; i < 200; ++i) ASSERT_EQ(client.Read().body.size(), 900U) << i;
  sender.join();
}

TEST_F(ServerTest, ARequestMayArriveByteByByte) {
  Start();
  RawClient client(address_);
  for (const char byte : Post("/echo", "slow")) {
    ASSERT_TRUE(client.Send({&byte, 1}));
    // sleeps: one byte each millisecond is what this client does.
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(client.Read().body, "slow");
}

TEST_F(ServerTest, HeadHasTheLengthAndNoBody) {
  Start();
  RawClient client(address_);
  client.Send("HEAD /hello HTTP/1.1\r\nHost: localhost\r\n\r\n" + Get("/hello"));
  const Answer head = client.Read(false);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.Header("Content-Length"), "5");
  EXPECT_EQ(client.Read().body, "hello");
}

TEST_F(ServerTest, FaultsAreSaidByTheDoorOfThePath) {
  Start();
  EXPECT_EQ(Ask(Get("/nowhere")).body, "plain: not found /nowhere");
  EXPECT_EQ(Ask(Get("/v1/nowhere")).body, "{\"code\":\"not found\"}\n");
  const Answer plain = Ask(Post("/hello", ""));
  EXPECT_EQ(plain.status, 405);
  EXPECT_EQ(plain.body, "plain: method not allowed /hello");
  EXPECT_EQ(plain.Header("Allow"), "GET, HEAD");
  const Answer json = Ask(Get("/v1/run"));
  EXPECT_EQ(json.body, "{\"code\":\"method not allowed\"}\n");
  EXPECT_EQ(json.Header("Content-Type"), "application/json");
  EXPECT_EQ(json.Header("Allow"), "OPTIONS, POST");
}

TEST_F(ServerTest, OptionsSaysWhatIsAllowedWithoutABody) {
  Start();
  const Answer answer = Ask("OPTIONS /v1/run HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.Header("Allow"), "OPTIONS, POST");
  EXPECT_EQ(answer.Header("Content-Length"), "");
  EXPECT_EQ(answer.Header("Content-Type"), "");
}

TEST_F(ServerTest, FieldsOfADoorCannotForgeOthers) {
  Start();
  const Answer answer = Ask(Post("/v1/run", "{}"));
  EXPECT_EQ(answer.Header("X-Extra"), "1");
  EXPECT_EQ(answer.head.find("X-Bad"), std::string::npos);
  EXPECT_EQ(answer.Header("b"), "");
}

TEST_F(ServerTest, PathsAreDecodedOnceAndQueriesAreCut) {
  Start();
  EXPECT_EQ(Ask(Get("/files/a%2Fb%2541?x=/y")).body, "/files/a/b%41");
  EXPECT_EQ(Ask(Get("http://localhost/files/z")).body, "/files/z");
  EXPECT_EQ(Ask(Get("/files/")).body, "/files/");
  EXPECT_EQ(Ask(Get("/files")).status, 404);
}

TEST_F(ServerTest, AnswersMayComeFromManyThreadsAtOnce) {
  Start();
  std::vector<std::thread> clients;
  std::atomic<int> right = 0;
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&] {
      RawClient client(address_);
      for (int j = 0; j < 20; ++j) {
        client.Send(Get("/held"));
        if (client.Read().body == "served") ++right;
      }
    });
  }
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      for (int j = 0; j < 80; ++j) {
        const auto exchange = held_.Take();
        exchange->OnDisconnect([] {});
        exchange->Respond(testing::Text(200, "served"));
      }
    });
  }
  for (std::thread& thread : clients) thread.join();
  for (std::thread& thread : workers) thread.join();
  EXPECT_EQ(right, 320);
}

TEST_F(ServerTest, RequestIdsAreTakenOverWhenHarmlessAndAlwaysEchoed) {
  Start();
  EXPECT_EQ(Ask(Get("/hello", "X-Request-ID: abc-1\r\n")).Header("X-Request-ID"), "abc-1");
  EXPECT_EQ(RecordOf(0).id, "abc-1");
  for (const std::string& bad : {std::string("a b"), std::string(200, 'x'), std::string("<x>")}) {
    const std::string id =
        Ask(Get("/hello", "X-Request-ID: " + bad + "\r\n")).Header("X-Request-ID");
    EXPECT_EQ(id.size(), 32U);
    EXPECT_NE(id, bad);
  }
}

TEST_F(ServerTest, ARequestIsObservedOnceWithWhatIsKnownOfIt) {
  Start();
  Ask(Post("/echo", "four"));
  const Record record = RecordOf(0);
  EXPECT_EQ(record.door, "plain");
  EXPECT_EQ(record.route, "/echo");
  EXPECT_EQ(record.method, "POST");
  EXPECT_EQ(record.path, "/echo");
  EXPECT_EQ(record.client, "127.0.0.1");
  EXPECT_EQ(record.status, 200);
  EXPECT_EQ(record.bytes_in, 4U);
  EXPECT_GT(record.bytes_out, 50U);
  Ask(Get("/files/a"));
  EXPECT_EQ(RecordOf(1).route, "/files/*");
  Ask("nonsense\r\n\r\n");
  EXPECT_EQ(RecordOf(2).status, 400);
}

TEST_F(ServerTest, WithTokensOnlyThoseWhoBringOneAndOpenPathsAreLetIn) {
  ServerOptions options = Options();
  options.tokens = *Tokens::Parse("# ours\nfirst-secret-token\nsecond-secret-token\n");
  testing::RouteOf(options.doors, "GET", "/hello").access = Access::kProbes;
  Start(std::move(options));
  const Answer none = Ask(Get("/who"));
  EXPECT_EQ(none.status, 401);
  EXPECT_EQ(none.body, "plain: unauthorized /who");
  EXPECT_EQ(none.Header("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(Ask(Get("/v1/run")).body, "{\"code\":\"unauthorized\"}\n");
  EXPECT_EQ(Ask(Get("/nowhere")).status, 401) << "not even what is there is said";
  EXPECT_EQ(Ask(Get("/who", "Authorization: Bearer second-secret-token\r\n")).body, "token-3");
  EXPECT_EQ(Ask(Get("/who", "X-Polybox-Token: first-secret-token\r\n")).body, "token-2");
  for (const char* wrong :
       {"Authorization: Bearer first-secret-toke\r\n",
        "Authorization: Bearer first-secret-token2\r\n",
        "Authorization: Basic first-secret-token\r\n", "Authorization: Bearer \r\n",
        "X-Polybox-Token: \r\n", "Authorization: Bearer # ours\r\n"}) {
    EXPECT_EQ(Ask(Get("/who", wrong)).status, 401) << wrong;
  }
  EXPECT_EQ(Ask(Get("/hello")).status, 200);
  RawClient head(address_);
  head.Send("HEAD /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(head.Read(false).status, 401);
}

TEST_F(ServerTest, DrainingRefusesTheNewAndLetsOthersFinish) {
  Start();
  RawClient idle(address_);
  idle.Send(Get("/hello"));
  idle.Read();
  RawClient busy(address_);
  busy.Send(Get("/held"));
  const auto exchange = held_.Take();
  server_->Drain();
  RawClient just_connected(address_);
  EXPECT_FALSE(server_->AwaitIdle(milliseconds(50)));
  just_connected.Send(Get("/files/result"));
  EXPECT_EQ(just_connected.Read().status, 200) << "its request was on the way";
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(server_->AwaitIdle(milliseconds(50)));
  EXPECT_TRUE(idle.ClosedWithin(2000));
  const Answer late = Ask(Post("/echo", "late"));
  EXPECT_EQ(late.status, 503);
  EXPECT_EQ(late.body, "plain: draining /echo");
  EXPECT_EQ(late.Header("Retry-After"), "1");
  EXPECT_EQ(late.Header("Connection"), "close");
  EXPECT_EQ(Ask(Post("/v1/run", "{}")).body, "{\"code\":\"draining\"}\n");
  EXPECT_EQ(Ask(Get("/files/result")).status, 200) << "results can still be fetched";
  const RawClient silent(address_);
  exchange->Respond(testing::Text(200, "finished"));
  const Answer answer = busy.Read();
  EXPECT_EQ(answer.body, "finished");
  EXPECT_EQ(answer.Header("Connection"), "close");
  bool idle_at_last = false;
  for (int i = 0; i < 500 && !idle_at_last; ++i)
    idle_at_last = server_->AwaitIdle(milliseconds(10));
  EXPECT_TRUE(idle_at_last) << "a connection without a request holds nothing up";
}

TEST_F(ServerTest, DrainingEndsAnAnswerThatOnlyItsClientEnds) {
  ServerOptions options = Options();
  testing::RouteOf(options.doors, "GET", "/held").answer_end = AnswerEnd::kClient;
  Start(std::move(options));
  RawClient client(address_);
  client.Send(Get("/held"));
  const auto exchange = held_.Take();
  std::promise<void> gone;
  exchange->OnDisconnect([&gone] { gone.set_value(); });
  exchange->Begin(testing::Text(200, ""));
  exchange->Write("event");
  EXPECT_FALSE(server_->AwaitIdle(milliseconds(50)));
  server_->Drain();
  EXPECT_EQ(client.Read().body, "event");
  EXPECT_EQ(gone.get_future().wait_for(seconds(10)), std::future_status::ready);
  EXPECT_EQ(RecordOf(0).status, 200);
  EXPECT_EQ(Ask(Get("/held")).status, 503) << "no further one begins";
}

TEST_F(ServerTest, TheLogHasTheRunAndWhyOthersWereRefused) {
  Start();
  RawClient client(address_);
  client.Send(Get("/held"));
  const auto exchange = held_.Take();
  exchange->Note({"python", ""});
  exchange->Note({"python", "timed_out"});
  exchange->Respond(testing::Text(200, ""));
  client.Read();
  EXPECT_EQ(RecordOf(0).language, "python");
  EXPECT_EQ(RecordOf(0).outcome, "timed_out");
  const std::pair<std::string, const char*> cases[] = {
      {Get("/hello"), "answered"},
      {Get("/nowhere"), "not_found"},
      {Post("/hello", ""), "method_not_allowed"},
      {Post("/echo", std::string(1001, 'x')), "body_too_large"},
      {Get("/throw"), "failed"},
      {Get("/hello", "Origin: null\r\n"), "foreign_origin"},
      {"GET /hello HTTP/1.1\r\nHost: evil.example\r\n\r\n", "foreign_host"},
      {"nonsense\r\n\r\n", "refused"},
  };
  std::size_t count = 1;
  for (const auto& [request, outcome] : cases) {
    Ask(request);
    const Record record = RecordOf(count++);
    EXPECT_EQ(record.outcome, outcome) << request;
    EXPECT_EQ(record.language, "") << request;
  }
}

TEST_F(ServerTest, TheLogNamesTheLanguageOfARunWhoseClientHasGone) {
  Start();
  RawClient client(address_);
  client.Send(Get("/held"));
  const auto exchange = held_.Take();
  exchange->Note({"go", ""});
  client.Close();
  EXPECT_EQ(RecordOf(0).language, "go");
  EXPECT_EQ(RecordOf(0).outcome, "client_gone");
}

TEST_F(ServerTest, StoppingTellsTheDoorsAndLeavesNothing) {
  Start();
  RawClient client(address_);
  client.Send(Get("/held"));
  const auto exchange = held_.Take();
  std::atomic<bool> gone = false;
  exchange->OnDisconnect([&gone] { gone = true; });
  server_->Stop();
  EXPECT_TRUE(gone);
  EXPECT_EQ(server_->connections(), 0U);
  server_.reset();
  exchange->Respond(testing::Text(200, "after the end of the server"));
}

TEST_F(ServerTest, PastTheMostConnectionsTheLongestIdleMakesRoom) {
  ServerOptions options = Options();
  options.limits.connections = 2;
  Start(std::move(options));
  RawClient busy(address_);
  busy.Send(Get("/held"));
  const auto exchange = held_.Take();
  RawClient idle(address_);
  idle.Send(Get("/hello"));
  EXPECT_EQ(idle.Read().status, 200);
  RawClient third(address_);
  third.Send(Get("/hello"));
  EXPECT_EQ(third.Read().status, 200);
  EXPECT_TRUE(idle.ClosedWithin(2000));
  exchange->Respond(testing::Text(200, "still here"));
  EXPECT_EQ(busy.Read().body, "still here");
}

TEST_F(ServerTest, AUnixSocketIsForItsOwnerAndReplacesAStaleOne) {
  const polybox::testing::TempDir dir;
  const std::string path = dir.path() + "/polybox.sock";
  for (int i = 0; i < 2; ++i) {
    Server server(Options(), log_);
    const Status status = server.ListenUnix(path);
    ASSERT_TRUE(status.ok()) << status.error().message();
    server.Start();
    struct stat info{};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    RawClient client = RawClient::Unix(path);
    client.Send(Get("/who"));
    EXPECT_EQ(client.Read().body, "unix");
    Server second(Options(), log_);
    EXPECT_FALSE(second.ListenUnix(path).ok()) << "somebody listens there";
  }
  struct stat info{};
  EXPECT_NE(::stat(path.c_str(), &info), 0) << "it goes with the server";
  // A socket file, as a killed server leaves it.
  UniqueFd left(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(left.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  left.reset();
  Server server(Options(), log_);
  EXPECT_TRUE(server.ListenUnix(path).ok());
}

TEST_F(ServerTest, APortThatIsTakenIsNamedWithWhatToDo) {
  Start();
  Server second(Options(), log_);
  const Result<std::string> taken = second.Listen(address_);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().message(), "listen on " + address_ + ": Address already in use");
  EXPECT_NE(taken.error().fix().find("--listen"), std::string::npos);
  const Result<std::string> foreign = second.Listen("192.0.2.1:0");
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().message(), "listen on 192.0.2.1:0: Cannot assign requested address");
}

TEST_F(ServerTest, ListensOnIpv6) {
  Server server(Options(), log_);
  const Result<std::string> address = server.Listen("[::1]:0");
  if (!address.ok()) GTEST_SKIP() << "no IPv6 here: " << address.error().message();
  EXPECT_TRUE(address->starts_with("[::1]:"));
}

}  // namespace
}  // namespace polybox::http
