#include "http/head.h"

#include <gtest/gtest.h>

namespace polybox::http {
namespace {

TEST(Head, HoldsWhatWasGivenAndKeepsPagesOfOtherSitesOut) {
  const Response response{.status = 429,
                          .content_type = "application/json",
                          .body = "",
                          .headers = {{"Retry-After", "2"}, {"Bad\r\nName", "x"}, {"V", "a\nb"}}};
  HeadFacts facts;
  facts.length = 12;
  facts.request_id = "abc";
  facts.now = std::chrono::system_clock::from_time_t(784111777);
  EXPECT_EQ(FormatHead(response, facts),
            "HTTP/1.1 429 Too Many Requests\r\n"
            "Content-Type: application/json\r\n"
            "Retry-After: 2\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Cross-Origin-Resource-Policy: same-origin\r\n"
            "X-Request-ID: abc\r\n"
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "Content-Length: 12\r\n"
            "\r\n");
}

TEST(Head, EveryAnswerIsKeptFromPagesOfOtherSites) {
  const HeadFacts facts;
  for (const int status : {200, 204, 400, 403, 404, 503}) {
    const std::string head = FormatHead(PlainResponse(status), facts);
    EXPECT_NE(head.find("\r\nX-Content-Type-Options: nosniff\r\n"), std::string::npos) << head;
    EXPECT_NE(head.find("\r\nCross-Origin-Resource-Policy: same-origin\r\n"), std::string::npos)
        << head;
  }
}

TEST(Head, AnAnswerForAnAllowedPageKeepsItsPolicy) {
  Response response;
  response.headers = {{"Cross-Origin-Resource-Policy", "cross-origin"}};
  const std::string head = FormatHead(response, {});
  EXPECT_NE(head.find("Cross-Origin-Resource-Policy: cross-origin\r\n"), std::string::npos) << head;
  EXPECT_EQ(head.find("same-origin"), std::string::npos) << head;
}

TEST(Head, PathsAreDecodedOnce) {
  const std::pair<const char*, std::optional<std::string>> cases[] = {
      {"/", "/"},
      {"/a?b=%zz", "/a"},
      {"/a#b", "/a"},
      {"/a%20b", "/a b"},
      {"/%2e%2E/x", "/../x"},
      {"/%2541", "/%41"},
      {"http://h/a", "/a"},
      {"http://h", "/"},
      {"http://h?a=/b", "/"},
      {"*", "*"},
      {"", std::nullopt},
      {"a", std::nullopt},
      {"/%", std::nullopt},
      {"/%4", std::nullopt},
      {"/%4g", std::nullopt},
      {"/%00", std::nullopt},
  };
  for (const auto& [target, path] : cases) EXPECT_EQ(DecodePath(target), path) << target;
}

TEST(Head, RequestIdsAreUnlikeEachOther) {
  const std::string id = MakeRequestId();
  EXPECT_EQ(id.size(), 32U);
  EXPECT_TRUE(IsSaneRequestId(id));
  EXPECT_NE(id, MakeRequestId());
  EXPECT_FALSE(IsSaneRequestId(""));
  EXPECT_FALSE(IsSaneRequestId("a\nb"));
  EXPECT_FALSE(IsSaneRequestId("\xc3\xa4"));
  EXPECT_TRUE(IsSaneRequestId(std::string(128, 'x')));
  EXPECT_FALSE(IsSaneRequestId(std::string(129, 'x')));
}

}  // namespace
}  // namespace polybox::http
