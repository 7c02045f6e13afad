#include "http/framing.h"

#include <gtest/gtest.h>

#include "http/testing/server_fixture.h"

namespace polybox::http {
namespace {

using testing::Answer;
using testing::RawClient;
using testing::ServerTest;

TEST(HeadEnd, IsFoundHoweverTheBytesArrive) {
  const std::string head = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string text = head + "GET /next";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    HeadEnd end;
    const HeadEnd::State first = end.Look(text.substr(0, cut));
    EXPECT_EQ(first, cut < head.size() ? HeadEnd::State::kMore : HeadEnd::State::kFound) << cut;
    if (first == HeadEnd::State::kMore) {
      EXPECT_EQ(end.Look(text), HeadEnd::State::kFound) << cut;
    }
    EXPECT_EQ(end.size(), head.size()) << cut;
  }
}

TEST(HeadEnd, AControlCharacterIsBadAsSoonAsItArrives) {
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\n"), std::string("GET / HTTP/1.1\rHost"), std::string("\n"),
        std::string("\x16\x03\x01"), std::string("GET /\0", 6), std::string("GET /\x7f")}) {
    EXPECT_EQ(HeadEnd().Look(text), HeadEnd::State::kBad) << text;
  }
}

struct FramingCase {
  const char* fields;
  /// "" when the head is valid.
  const char* complaint;
  bool chunked = false;
  std::optional<std::uint64_t> length = std::nullopt;
  const char* version = "HTTP/1.1";
};

constexpr const char* kRepeatedLength = "Content-Length must not be repeated";
constexpr const char* kBadLength = "Content-Length must be one decimal number";
constexpr const char* kBadCoding = "Transfer-Encoding must be chunked or absent";
constexpr const char* kBadField =
    "a field must be a name, a colon directly after the name, and a value";

const FramingCase kFramings[] = {
    {"", ""},
    {"Content-Length: 0\r\n", "", false, 0},
    {"content-length:\t 007 \r\n", "", false, 7},
    {"Content-Length: 18446744073709551615\r\n", "", false, 18446744073709551615U},
    {"Content-Length: 18446744073709551616\r\n", kBadLength},
    {"Content-Length: \r\n", kBadLength},
    {"Content-Length: +5\r\n", kBadLength},
    {"Content-Length: -5\r\n", kBadLength},
    {"Content-Length: 0x5\r\n", kBadLength},
    {"Content-Length: 5,5\r\n", kBadLength},
    {"Content-Length: 5 5\r\n", kBadLength},
    {"Content-Length: 5.0\r\n", kBadLength},
    {"Content-Length: 5\r\nContent-Length: 5\r\n", kRepeatedLength},
    {"Content-Length: 5\r\nContent-Length: 6\r\n", kRepeatedLength},
    {"Transfer-Encoding: chunked\r\n", "", true},
    {"transfer-encoding:Chunked \r\n", "", true},
    {"Transfer-Encoding: xchunked\r\n", kBadCoding},
    {"Transfer-Encoding: gzip\r\n", kBadCoding},
    {"Transfer-Encoding: identity\r\n", kBadCoding},
    {"Transfer-Encoding: gzip, chunked\r\n", kBadCoding},
    {"Transfer-Encoding: chunked, chunked\r\n", kBadCoding},
    {"Transfer-Encoding: chunked;a=b\r\n", kBadCoding},
    {"Transfer-Encoding: \"chunked\"\r\n", kBadCoding},
    {"Transfer-Encoding: ,chunked\r\n", kBadCoding},
    {"Transfer-Encoding: \r\n", kBadCoding},
    {"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", kBadCoding},
    {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
     "Transfer-Encoding must not be repeated"},
    {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
     "Transfer-Encoding and Content-Length exclude each other"},
    {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
     "Transfer-Encoding and Content-Length exclude each other"},
    {"Transfer-Encoding: chunked\r\n", "HTTP/1.0 has no Transfer-Encoding", false, std::nullopt,
     "HTTP/1.0"},
    {"Transfer-Encoding : chunked\r\n", kBadField},
    {"Transfer-Encoding\t: chunked\r\n", kBadField},
    {"X: a\r\n Transfer-Encoding: chunked\r\n", "a field must not be folded"},
    {"Content-Length:\r\n 5\r\n", kBadLength},
    {"X:\r\n\t5\r\n", "a field must not be folded"},
    {"Transfer-Encoding\r\n", kBadField},
    {": chunked\r\n", kBadField},
    {"Transfer\x80-Encoding: chunked\r\n", kBadField},
    {"(Transfer-Encoding): chunked\r\n", kBadField},
};

TEST(Framing, IsReadStrictlyAndTheComplaintNamesTheRule) {
  for (const FramingCase& c : kFramings) {
    const Result<Framing> framing = ReadFraming(std::string("POST / ") + c.version +
                                                "\r\nHost: localhost\r\n" + c.fields + "\r\n");
    if (*c.complaint != '\0') {
      ASSERT_FALSE(framing.ok()) << c.fields;
      EXPECT_EQ(framing.error().message(), c.complaint) << c.fields;
      continue;
    }
    ASSERT_TRUE(framing.ok()) << c.fields;
    EXPECT_EQ(framing->chunked, c.chunked) << c.fields;
    EXPECT_EQ(framing->length, c.length) << c.fields;
  }
}

TEST_F(ServerTest, BytesBehindABadHeadNeverRunAsARequest) {
  Start();
  std::size_t asked = 0;
  for (const FramingCase& c : kFramings) {
    if (*c.complaint == '\0') continue;
    RawClient client(address_);
    client.Send(
        fmt::format("POST /echo {}\r\nHost: localhost\r\nConnection: keep-alive\r\n{}\r\n{}",
                    c.version, c.fields, Get("/who")));
    const Answer answer = client.Read();
    EXPECT_EQ(answer.status, 400) << c.fields;
    EXPECT_EQ(answer.body, fmt::format("400 Bad Request: {}\n", c.complaint)) << c.fields;
    EXPECT_EQ(answer.Header("Connection"), "close") << c.fields;
    EXPECT_EQ(client.ReadToEnd(), "") << c.fields;
    EXPECT_EQ(RecordOf(asked++).status, 400) << c.fields;
  }
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(records_.size(), asked);
}

TEST_F(ServerTest, BytesBehindABadChunkNeverRunAsARequest) {
  Start();
  const std::string head =
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string body :
       {"5\nhello\r\n0\r\n\r\n", "5\r\nhello0\r\n\r\n", "5\r\nhelloworld\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n", " 5\r\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n", "\r\n0\r\n\r\n", "5\r\nhello\r\n0\n\r\n\r\n",
        "5;a=\"\n\"\r\nhello\r\n0\r\n\r\n", "5;a\r\r\nhello\r\n0\r\n\r\n",
        "10000000000000005\r\nhello\r\n0\r\n\r\n", "0\r\nTrailer\r\n\r\n", "0\r\nA : b\r\n\r\n"}) {
    RawClient client(address_);
    client.Send(head + body + Get("/who"));
    EXPECT_EQ(client.Read().status, 400) << body;
    EXPECT_EQ(client.ReadToEnd(), "") << body;
  }
}

TEST_F(ServerTest, ExtensionsAndTrailersOfABodyInChunksAreBounded) {
  Start();
  const std::string head =
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string much(200'000, 'x');
  for (const std::string& body : {"1;" + much, "0\r\nTrailer: " + much}) {
    RawClient client(address_);
    client.Send(head + body);
    EXPECT_EQ(client.Read().status, 431);
    EXPECT_TRUE(client.ReadToEnd().empty());
  }
}

TEST_F(ServerTest, ASingleEmptyLineBeforeARequestIsPassedOver) {
  Start();
  RawClient client(address_);
  client.Send(Post("/echo", "one") + "\r\n" + Get("/hello"));
  EXPECT_EQ(client.Read().body, "one");
  EXPECT_EQ(client.Read().body, "hello");
  client.Send("\r\n\r\n" + Get("/who"));
  EXPECT_EQ(client.Read().status, 400);
  EXPECT_EQ(client.ReadToEnd(), "");
}

}  // namespace
}  // namespace polybox::http
