// Tests of clients that send nonsense, are slow, go away or do not read.
#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "http/server.h"
#include "http/testing/server_fixture.h"

namespace polybox::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Answer;
using testing::RawClient;
using testing::ServerTest;

struct Malformed {
  const char* name;
  std::string request;
  int status;
};

TEST_F(ServerTest, AMalformedRequestIsRefusedAndTheServerGoesOn) {
  Start();
  std::string fields;
  for (int i = 0; i < 101; ++i) fields += fmt::format("X-{}: y\r\n", i);
  const Malformed cases[] = {
      {"no HTTP", "hello there\r\n\r\n", 400},
      {"zero byte", std::string("GET /\0 HTTP/1.1\r\nHost: localhost\r\n\r\n", 36), 400},
      {"no host", "GET /hello HTTP/1.1\r\n\r\n", 400},
      {"two hosts", "GET /hello HTTP/1.1\r\nHost: localhost\r\nHost: y\r\n\r\n", 400},
      {"bad escape", Get("/%zz"), 400},
      {"cut escape", Get("/%4"), 400},
      {"escaped zero", Get("/files/%00"), 400},
      {"not a path", Get("hello"), 400},
      {"version 2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"many fields", Get("/hello", fields), 431},
      {"long field", Get("/hello", "X: " + std::string(70000, 'x') + "\r\n"), 431},
      {"long path", Get("/" + std::string(70000, 'x')), 431},
      {"two lengths",
       "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
       400},
      {"length and chunks",
       "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: "
       "chunked\r\n\r\n0\r\n\r\n",
       400},
      {"negative length", "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
       400},
      {"bad chunk",
       "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"folded field", "GET /hello HTTP/1.1\r\nHost: localhost\r\nA : b\r\n\r\n", 400},
  };
  for (const Malformed& c : cases) {
    const Answer answer = Ask(c.request);
    EXPECT_EQ(answer.status, c.status) << c.name;
    EXPECT_EQ(answer.Header("Connection"), "close") << c.name;
  }
  EXPECT_EQ(Ask(Get("/hello")).status, 200);
}

TEST_F(ServerTest, ADoorThatThrowsOrForgetsIsAnInternalError) {
  Start();
  RawClient client(address_);
  for (const char* path : {"/throw", "/dropped"}) {
    client.Send(Get(path));
    const Answer answer = client.Read();
    EXPECT_EQ(answer.status, 500) << path;
    EXPECT_EQ(answer.body, fmt::format("plain: internal {}", path));
  }
  client.Send(Get("/hello"));
  EXPECT_EQ(client.Read().status, 200);
  EXPECT_NE(log_text_.str().find("oops"), std::string::npos);
}

TEST_F(ServerTest, SlowHeadsAndBodiesAreCutOff) {
  ServerOptions options = Options();
  options.timeouts.head = milliseconds(200);
  options.timeouts.request = milliseconds(500);
  options.timeouts.idle = milliseconds(300);
  options.timeouts.linger = milliseconds(50);
  Start(std::move(options));
  RawClient silent(address_);
  RawClient head(address_);
  head.Send("GET /hello HTTP/1.1\r\n");
  RawClient body(address_);
  body.Send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n");
  RawClient idle(address_);
  idle.Send(Get("/hello"));
  EXPECT_EQ(idle.Read().status, 200);
  EXPECT_TRUE(silent.ClosedWithin(2000));
  EXPECT_TRUE(head.ClosedWithin(2000));
  // A byte now and then does not extend the timeout.
  for (int i = 0; i < 20; ++i) {
    body.Send("x");
    // sleeps: one byte every 50 ms is what this client does.
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_TRUE(body.ClosedWithin(2000));
  // Several threads serve the connections, so the order of these two records is not fixed.
  EXPECT_EQ(RecordOf(1).status, 408);
  EXPECT_EQ(RecordOf(2).status, 408);
  EXPECT_TRUE(RecordOf(1).path == "/echo" || RecordOf(2).path == "/echo");
  EXPECT_TRUE(idle.ClosedWithin(2000));
  EXPECT_TRUE(NoConnectionIsLeft());
}

TEST_F(ServerTest, AClientThatHasJustComeMayStillSendItsRequestWhenThereIsNoRoom) {
  ServerOptions options = Options();
  options.limits.connections = 1;
  Start(std::move(options));
  const auto begin = std::chrono::steady_clock::now();
  RawClient first(address_);
  RawClient second(address_);
  second.Send(Get("/hello"));
  EXPECT_TRUE(first.ClosedWithin(5000));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(240));
  EXPECT_EQ(second.Read().status, 200);
}

TEST_F(ServerTest, ADoorLearnsThatItsClientHasGone) {
  Start();
  for (const bool reset : {false, true}) {
    RawClient client(address_);
    client.Send(Post("/held", "x"));
    const auto exchange = held_.Take();
    std::promise<void> gone;
    exchange->OnDisconnect([&gone] { gone.set_value(); });
    reset ? client.Reset() : client.Close();
    ASSERT_EQ(gone.get_future().wait_for(seconds(5)), std::future_status::ready);
    exchange->Respond(testing::Text(200, "too late"));
    bool told = false;
    exchange->OnDisconnect([&told] { told = true; });
    EXPECT_TRUE(told) << "at once when it has gone already";
    EXPECT_EQ(RecordOf(reset ? 1 : 0).status, 499);
  }
  EXPECT_TRUE(NoConnectionIsLeft());
}

TEST_F(ServerTest, AClientThatGoesBehindAPipelinedRequestIsNoticed) {
  Start();
  RawClient client(address_);
  const std::string requests = Get("/held") + Get("/hello");
  client.Send(requests);
  const auto exchange = held_.Take();
  std::promise<void> gone;
  exchange->OnDisconnect([&gone] { gone.set_value(); });
  ASSERT_TRUE(IsRead(client, requests.size()));
  client.Close();
  EXPECT_EQ(gone.get_future().wait_for(seconds(5)), std::future_status::ready);
}

TEST_F(ServerTest, NoClientIsReportedGoneAfterItsAnswer) {
  Start();
  RawClient client(address_);
  client.Send(Get("/held"));
  auto exchange = held_.Take();
  std::atomic<bool> called = false;
  auto kept = std::make_shared<int>(1);
  exchange->OnDisconnect([&called, kept] { called = true; });
  exchange->Respond(testing::Text(200, "done"));
  EXPECT_EQ(client.Read().body, "done");
  EXPECT_EQ(kept.use_count(), 1) << "what the callback holds is let go";
  client.Close();
  EXPECT_TRUE(NoConnectionIsLeft());
  EXPECT_FALSE(called);
}

TEST_F(ServerTest, PartsArriveAsTheyAreWritten) {
  Start();
  RawClient client(address_);
  client.Send(Get("/held"));
  const auto exchange = held_.Take();
  exchange->Begin({.status = 200, .content_type = "text/event-stream", .body = "", .headers = {}});
  exchange->Write("one");
  EXPECT_TRUE(client.HasNews(5000)) << "before the end";
  exchange->Write("");
  exchange->Write("two");
  exchange->End();
  const Answer answer = client.Read();
  EXPECT_EQ(answer.Header("Content-Type"), "text/event-stream");
  EXPECT_EQ(answer.body, "onetwo");
  client.Send(Get("/hello"));
  EXPECT_EQ(client.Read().body, "hello") << "the connection can be used again";
}

TEST_F(ServerTest, PartsForAnOldClientEndWithTheConnection) {
  Start();
  RawClient client(address_);
  client.Send("GET /held HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n");
  const auto exchange = held_.Take();
  exchange->Begin(testing::Text(200, "ignored"));
  exchange->Write("one");
  exchange->Write("two");
  exchange->End();
  const Answer answer = client.Read();
  EXPECT_EQ(answer.body, "onetwo");
  EXPECT_EQ(answer.Header("Transfer-Encoding"), "");
  EXPECT_EQ(answer.Header("Connection"), "close");
}

TEST_F(ServerTest, PartsOfAHeadAnswerAreNotSent) {
  Start();
  RawClient client(address_);
  client.Send("HEAD /held HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const auto exchange = held_.Take();
  exchange->Begin(testing::Text(200, ""));
  exchange->Write("one");
  exchange->End();
  EXPECT_EQ(client.Read(false).status, 200);
  client.Send(Get("/hello"));
  EXPECT_EQ(client.Read().body, "hello");
}

TEST_F(ServerTest, AnAnswerThatBreaksOffIsNotTakenForAWholeOne) {
  Start();
  RawClient client(address_);
  client.Send(Get("/held"));
  auto exchange = held_.Take();
  exchange->Begin(testing::Text(200, ""));
  exchange->Write("one");
  exchange.reset();
  const std::string all = client.ReadToEnd();
  EXPECT_NE(all.find("3\r\none\r\n"), std::string::npos);
  EXPECT_FALSE(all.ends_with("0\r\n\r\n"));
}

TEST_F(ServerTest, AClientThatDoesNotReadIsLetGo) {
  ServerOptions options = Options();
  options.limits.waiting_parts = 100'000;
  options.timeouts.write = milliseconds(500);
  Start(std::move(options));
  RawClient client(address_);
  client.Send(Get("/held"));
  const auto exchange = held_.Take();
  std::promise<void> gone;
  exchange->OnDisconnect([&gone] { gone.set_value(); });
  exchange->Begin(testing::Text(200, ""));
  // Write() never blocks, however many bytes wait.
  for (int i = 0; i < 3000; ++i) exchange->Write(std::string(10'000, 'x'));
  EXPECT_EQ(gone.get_future().wait_for(seconds(10)), std::future_status::ready);
  exchange->End();
  EXPECT_TRUE(NoConnectionIsLeft());
}

}  // namespace
}  // namespace polybox::http
