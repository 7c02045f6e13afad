// Tests how the server reads the bodies of requests, and which bodies it refuses.
#include <thread>

#include <gtest/gtest.h>

#include "http/server.h"
#include "http/testing/server_fixture.h"

namespace polybox::http {
namespace {

using std::chrono::milliseconds;
using testing::Answer;
using testing::RawClient;
using testing::ServerTest;

TEST_F(ServerTest, TakesChunkedBodies) {
  Start();
  RawClient client(address_);
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n");
  EXPECT_EQ(client.Read().body, "abcde");
  client.Send(Get("/hello"));
  EXPECT_EQ(client.Read().body, "hello");
}

TEST_F(ServerTest, SaysContinueWhenABodyIsWelcomeAndOnlyThen) {
  Start();
  RawClient client(address_);
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nExpect: "
      "100-continue\r\n\r\n");
  EXPECT_EQ(client.Read().status, 100);
  client.Send("abc");
  EXPECT_EQ(client.Read().body, "abc");
  RawClient large(address_);
  large.Send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000\r\nExpect: "
      "100-continue\r\n\r\n");
  EXPECT_EQ(large.Read().status, 413);
  RawClient lost(address_);
  lost.Send(
      "POST /no HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(lost.Read().status, 404);
  EXPECT_EQ(Ask("GET /hello HTTP/1.1\r\nHost: localhost\r\nExpect: tea\r\n\r\n").status, 417);
}

TEST_F(ServerTest, ABodyThatIsTooLargeIsRefusedInTheDoorsWords) {
  Start();
  const Answer announced = Ask(Post("/v1/run", "12345678901"));
  EXPECT_EQ(announced.status, 413);
  EXPECT_EQ(announced.body, "{\"code\":\"body too large\"}\n");
  EXPECT_EQ(announced.Header("Connection"), "close");
  const Answer chunked =
      Ask("POST /v1/run HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n"
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
  EXPECT_EQ(
      Ask("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n190\r\n" +
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
  const std::string begun =
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 800\r\n\r\nx";
  slow.Send(begun);
  // The server reads this request before the next one. The request then holds memory only for the
  // bytes that it has sent.
  ASSERT_TRUE(IsRead(slow, begun.size()));
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

TEST_F(ServerTest, AClientThatGoesAwayGivesItsRoomBack) {
  ServerOptions options = Options();
  options.limits.bodies = 1000;
  Start(std::move(options));
  {
    RawClient gone(address_);
    gone.Send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n" +
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

}  // namespace
}  // namespace polybox::http
