#include "net/connect_request.h"

#include <string>

#include <gtest/gtest.h>

namespace polybox::net {
namespace {

/// Returns "host:port", or the reason why there is none.
std::string Read(std::string_view head) {
  const auto request = ReadConnectRequest(head);
  if (const auto* target = std::get_if<HostPort>(&request)) {
    return target->host + ":" + std::to_string(target->port);
  }
  return std::get<ConnectProblem>(request) == ConnectProblem::kNotConnect ? "not connect"
                                                                          : "malformed";
}

TEST(ConnectRequest, NamesOneHostAndPort) {
  EXPECT_EQ(Read("CONNECT Good.Example.:443 HTTP/1.1\r\nHost: other:1\r\n\r\n"),
            "good.example:443");
  EXPECT_EQ(Read("CONNECT [2001:DB8::1]:80 HTTP/1.0\r\n\r\n"), "2001:db8::1:80");
  EXPECT_EQ(Read("CONNECT a:1 HTTP/1.1\r\nContent-Length: 5\r\n\r\n"), "a:1");
  EXPECT_EQ(Read("CONNECT a:1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), "a:1");
}

TEST(ConnectRequest, AnotherMethodIsToldFromWhatIsNotHttp) {
  EXPECT_EQ(Read("GET http://a/ HTTP/1.1\r\n\r\n"), "not connect");
  EXPECT_EQ(Read("CONNECTS a:1 HTTP/1.1\r\n\r\n"), "not connect");
  for (const char* head :
       {"", "\r\n\r\n", "CONNECT a:1\r\n\r\n", "CONNECT a:1 HTTP/2.0\r\n\r\n",
        "CONNECT a:1 b:2 HTTP/1.1\r\n\r\n", "CONNECT a HTTP/1.1\r\n\r\n",
        "CONNECT user@a:1 HTTP/1.1\r\n\r\n", "CONNECT a:1/ HTTP/1.1\r\n\r\n",
        "CONNECT a:1 HTTP/1.1\nHost: a\n\n", "CONNECT a:1 HTTP/1.1\r\nno colon\r\n\r\n",
        "CONNECT a:1 HTTP/1.1\r\n"}) {
    EXPECT_EQ(Read(head), "malformed") << head;
  }
}

}  // namespace
}  // namespace polybox::net
