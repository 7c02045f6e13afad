#include "http/server.h"

#include <atomic>
#include <future>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing/temp_dir.h"
#include "http/testing/raw_client.h"
#include "http/testing/sample_doors.h"

namespace polybox::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Answer;
using testing::Held;
using testing::RawClient;

struct Record {
  std::string door, route, method, path, id, client;
  int status;
  std::uint64_t bytes_in, bytes_out;
};

/// A server with the sample doors on a free port.
class ServerTest : public ::testing::Test {
 protected:
  ServerOptions Options() {
    ServerOptions options;
    options.doors = {testing::PlainDoor(held_), testing::JsonDoor()};
    options.observe = [this](const Served& served) {
      const std::lock_guard lock(mutex_);
      records_.push_back({std::string(served.door), std::string(served.route),
                          std::string(served.method), std::string(served.path),
                          std::string(served.id), std::string(served.client), served.status,
                          served.bytes_in, served.bytes_out});
    };
    return options;
  }
  void Start(ServerOptions options) {
    server_ = std::make_unique<Server>(std::move(options), log_);
    Result<std::string> address = server_->Listen("127.0.0.1:0");
    ASSERT_TRUE(address.ok()) << address.error().message();
    address_ = *address;
    server_->Start();
  }
  void Start() { Start(Options()); }

  /// Whether a body of 1000 bytes finds room at last.
  bool AllRoomIsFree() {
    for (int i = 0; i < 1000; ++i) {
      if (Ask(Post("/echo", std::string(1000, 'y'))).status == 200) return true;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
  }

  static std::string Get(const std::string& path, const std::string& more = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + more + "\r\n";
  }
  static std::string Post(const std::string& path, const std::string& body) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", path,
                       body.size(), body);
  }
  Answer Ask(const std::string& request) {
    RawClient client(address_);
    client.Send(request);
    return client.Read();
  }
  /// The n-th request that was served; waits for it.
  Record RecordOf(std::size_t n) {
    for (int i = 0; i < 1000; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (records_.size() > n) return records_[n];
      }
      std::this_thread::sleep_for(milliseconds(5));
    }
    return {};
  }
  bool NoConnectionIsLeft() {
    for (int i = 0; i < 1000 && server_->connections() > 0; ++i) {
      std::this_thread::sleep_for(milliseconds(5));
    }
    return server_->connections() == 0;
  }

  std::ostringstream log_text_;
  log::Logger log_ = log::Logger::ToStream(log_text_, {.level = log::Level::kError});
  Held held_;
  std::mutex mutex_;
  std::vector<Record> records_;
  std::unique_ptr<Server> server_;
  std::string address_;
};

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
  old.Send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.Read().head.substr(0, 15), "HTTP/1.0 200 OK");
  EXPECT_TRUE(old.ClosedWithin(1000));
  RawClient kept(address_);
  kept.Send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(kept.Read().Header("Connection"), "keep-alive");
  kept.Send("GET /hello HTTP/1.0\r\n\r\n");
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
  // More than is read ahead.
  for (int i = 0; i < 200; ++i) requests += Post("/echo", std::string(900, 'x'));
  std::thread sender([&] { client.Send(requests); });
  const auto first = held_.Take();
  std::this_thread::sleep_for(milliseconds(100));
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
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(client.Read().body, "slow");
}

TEST_F(ServerTest, HeadHasTheLengthAndNoBody) {
  Start();
  RawClient client(address_);
  client.Send("HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n" + Get("/hello"));
  const Answer head = client.Read(false);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.Header("Content-Length"), "5");
  EXPECT_EQ(client.Read().body, "hello");
}

TEST_F(ServerTest, TakesChunkedBodies) {
  Start();
  RawClient client(address_);
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n");
  EXPECT_EQ(client.Read().body, "abcde");
  client.Send(Get("/hello"));
  EXPECT_EQ(client.Read().body, "hello");
}

TEST_F(ServerTest, SaysContinueWhenABodyIsWelcomeAndOnlyThen) {
  Start();
  RawClient client(address_);
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.Read().status, 100);
  client.Send("abc");
  EXPECT_EQ(client.Read().body, "abc");
  RawClient large(address_);
  large.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(large.Read().status, 413);
  RawClient lost(address_);
  lost.Send("POST /no HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(lost.Read().status, 404);
  EXPECT_EQ(Ask("GET /hello HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n").status, 417);
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
  const Answer answer = Ask("OPTIONS /v1/run HTTP/1.1\r\nHost: x\r\n\r\n");
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

TEST_F(ServerTest, ABodyThatIsTooLargeIsRefusedInTheDoorsWords) {
  Start();
  const Answer announced = Ask(Post("/v1/run", "12345678901"));
  EXPECT_EQ(announced.status, 413);
  EXPECT_EQ(announced.body, "{\"code\":\"body too large\"}\n");
  EXPECT_EQ(announced.Header("Connection"), "close");
  const Answer chunked =
      Ask("POST /v1/run HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n"
          "12345678901\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.status, 400) << "its length was not announced";
  EXPECT_EQ(Ask(Post("/v1/run", "1234567890")).status, 200);
}

TEST_F(ServerTest, AClientThatSendsFarTooMuchStillGetsItsAnswer) {
  Start();
  RawClient client(address_);
  const std::string body(4 << 20, 'x');
  std::thread sender([&] { client.Send(Post("/echo", body)); });
  EXPECT_EQ(client.Read().status, 413);
  client.ReadToEnd();
  sender.join();
  EXPECT_TRUE(NoConnectionIsLeft());
}

TEST_F(ServerTest, BodiesThatFindNoRoomTogetherAreToldToTryAgain) {
  ServerOptions options = Options();
  options.limits.bodies = 1000;
  Start(std::move(options));
  RawClient first(address_);
  first.Send(Post("/held", std::string(700, 'x')));
  auto exchange = held_.Take();
  const Answer refused = Ask(Post("/echo", std::string(400, 'y')));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.body, "plain: overloaded /echo");
  EXPECT_EQ(refused.Header("Retry-After"), "1");
  EXPECT_EQ(refused.Header("Connection"), "close");
  EXPECT_EQ(Ask(Get("/hello")).status, 200) << "who brings no body needs no room";
  EXPECT_EQ(Ask(Post("/echo", std::string(300, 'y'))).status, 200) << "a small one has room";
  EXPECT_EQ(Ask("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n190\r\n" +
                std::string(400, 'x') + "\r\n0\r\n\r\n")
                .status,
            503)
      << "it announced nothing";
  exchange->Respond(testing::Text(200, "done"));
  exchange.reset();
  EXPECT_EQ(first.Read().body, "done");
  EXPECT_TRUE(AllRoomIsFree());
}

TEST_F(ServerTest, ABodyThatFindsNoMoreRoomOnItsWayIsToldToTryAgain) {
  ServerOptions options = Options();
  options.limits.bodies = 1000;
  Start(std::move(options));
  RawClient slow(address_);
  slow.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 800\r\n\r\nx");
  // Most likely it is let in before the next one comes; then it holds what it has sent, no more.
  std::this_thread::sleep_for(milliseconds(100));
  RawClient first(address_);
  first.Send(Post("/held", std::string(900, 'x')));
  auto exchange = held_.Take();
  slow.Send(std::string(799, 'x'));
  EXPECT_EQ(slow.Read().status, 503);
  exchange->Respond(testing::Text(200, "done"));
  exchange.reset();
  EXPECT_EQ(first.Read().body, "done");
  EXPECT_TRUE(AllRoomIsFree());
}

TEST_F(ServerTest, ABodyThatCouldNeverBeReadIsTooLarge) {
  ServerOptions options = Options();
  options.limits.bodies = 500;
  Start(std::move(options));
  EXPECT_EQ(Ask(Post("/echo", std::string(501, 'x'))).status, 413);
  EXPECT_EQ(Ask(Post("/echo", std::string(500, 'x'))).status, 200);
}

TEST_F(ServerTest, WhoeverGoesAwayGivesTheRoomBack) {
  ServerOptions options = Options();
  options.limits.bodies = 1000;
  Start(std::move(options));
  {
    RawClient gone(address_);
    gone.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" +
              std::string(900, 'x'));
  }
  EXPECT_TRUE(AllRoomIsFree());
}

TEST_F(ServerTest, AFaultWithASmallBodyKeepsTheConnection) {
  Start();
  RawClient client(address_);
  client.Send(Post("/nowhere", std::string(1000, 'x')) + Get("/hello"));
  EXPECT_EQ(client.Read().status, 404);
  EXPECT_EQ(client.Read().body, "hello");
}

TEST_F(ServerTest, PathsAreDecodedOnceAndQueriesAreCut) {
  Start();
  EXPECT_EQ(Ask(Get("/files/a%2Fb%2541?x=/y")).body, "/files/a/b%41");
  EXPECT_EQ(Ask(Get("http://host/files/z")).body, "/files/z");
  EXPECT_EQ(Ask(Get("/files/")).body, "/files/");
  EXPECT_EQ(Ask(Get("/files")).status, 404);
}

struct Malformed {
  const char* name;
  std::string request;
  int status;
};

TEST_F(ServerTest, WhatIsMalformedIsRefusedAndTheServerGoesOn) {
  Start();
  std::string fields;
  for (int i = 0; i < 101; ++i) fields += fmt::format("X-{}: y\r\n", i);
  const Malformed cases[] = {
      {"no HTTP", "hello there\r\n\r\n", 400},
      {"zero byte", std::string("GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n", 28), 400},
      {"no host", "GET /hello HTTP/1.1\r\n\r\n", 400},
      {"two hosts", "GET /hello HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
      {"bad escape", Get("/%zz"), 400},
      {"cut escape", Get("/%4"), 400},
      {"escaped zero", Get("/files/%00"), 400},
      {"not a path", Get("hello"), 400},
      {"version 2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"many fields", Get("/hello", fields), 431},
      {"long field", Get("/hello", "X: " + std::string(70000, 'x') + "\r\n"), 431},
      {"long path", Get("/" + std::string(70000, 'x')), 431},
      {"two lengths",
       "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
      {"length and chunks",
       "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: "
       "chunked\r\n\r\n0\r\n\r\n",
       400},
      {"negative length", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
      {"bad chunk", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
       400},
      {"folded field", "GET /hello HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n", 400},
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
  body.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n");
  RawClient idle(address_);
  idle.Send(Get("/hello"));
  EXPECT_EQ(idle.Read().status, 200);
  EXPECT_TRUE(silent.ClosedWithin(2000));
  EXPECT_TRUE(head.ClosedWithin(2000));
  // A byte now and then does not help.
  for (int i = 0; i < 20; ++i) {
    body.Send("x");
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_TRUE(body.ClosedWithin(2000));
  // Connections are served by several threads: only what both have in common is in order.
  EXPECT_EQ(RecordOf(1).status, 408);
  EXPECT_EQ(RecordOf(2).status, 408);
  EXPECT_TRUE(RecordOf(1).path == "/echo" || RecordOf(2).path == "/echo");
  EXPECT_TRUE(idle.ClosedWithin(2000));
  EXPECT_TRUE(NoConnectionIsLeft());
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
  client.Send(Get("/held") + Get("/hello"));
  const auto exchange = held_.Take();
  std::promise<void> gone;
  exchange->OnDisconnect([&gone] { gone.set_value(); });
  std::this_thread::sleep_for(milliseconds(50));
  client.Close();
  EXPECT_EQ(gone.get_future().wait_for(seconds(5)), std::future_status::ready);
}

TEST_F(ServerTest, NobodyIsCalledGoneAfterItsAnswer) {
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
  client.Send("GET /held HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
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
  client.Send("HEAD /held HTTP/1.1\r\nHost: x\r\n\r\n");
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
  // Never blocks, however much it is.
  for (int i = 0; i < 3000; ++i) exchange->Write(std::string(10'000, 'x'));
  EXPECT_EQ(gone.get_future().wait_for(seconds(10)), std::future_status::ready);
  exchange->End();
  EXPECT_TRUE(NoConnectionIsLeft());
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
  options.open = {"GET /hello"};
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
  head.Send("HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(head.Read(false).status, 401);
}

TEST_F(ServerTest, DrainingEndsIdleConnectionsAndLetsOthersFinish) {
  Start();
  RawClient idle(address_);
  idle.Send(Get("/hello"));
  idle.Read();
  RawClient busy(address_);
  busy.Send(Get("/held"));
  const auto exchange = held_.Take();
  server_->Drain();
  EXPECT_TRUE(idle.ClosedWithin(2000));
  EXPECT_FALSE(server_->AwaitIdle(milliseconds(50)));
  RawClient late(address_);
  late.Send(Get("/hello"));
  EXPECT_EQ(late.Read().status, 0);
  exchange->Respond(testing::Text(200, "finished"));
  const Answer answer = busy.Read();
  EXPECT_EQ(answer.body, "finished");
  EXPECT_EQ(answer.Header("Connection"), "close");
  EXPECT_TRUE(server_->AwaitIdle(seconds(5)));
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
  // What a killed server leaves.
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
