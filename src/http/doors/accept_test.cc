#include "http/doors/accept.h"

#include <gtest/gtest.h>

namespace polybox::http {
namespace {

TEST(Accept, OnlyAClientThatLikesHtmlBetterThanJsonPrefersThePage) {
  struct Row {
    const char* accept;
    bool page;
  };
  const Row rows[] = {
      // Chromium, Firefox, and text browsers.
      {"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
       true},
      {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true},
      {"text/html, text/plain, text/css;q=0.5", true},
      {"text/html", true},
      {"TEXT/HTML ; Q=0.5 , application/json;q=0.4", true},
      {"application/json;q=0.001,,text/html;q=0.01", true},
      {"text/html;charset=utf-8;q=1.000", true},
      // Clients that want JSON, or anything.
      {"", false},
      {"*/*", false},
      {"text/*", false},
      {"application/json", false},
      {"application/json, text/plain, */*", false},
      {"application/json, text/html", false},
      {"text/html, */*", false},
      {"text/html;q=0.5, application/*;q=0.6", false},
      {"text/html;q=0", false},
      {"text/html;q=0.0, image/png", false},
      {"text/htmlx", false},
      // Malformed headers; the first is that of Java's HttpURLConnection.
      {"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", false},
      {"text/html;q=2", false},
      {"text/html;q=1.001", false},
      {"text/html;q=0.1234", false},
      {"text/html;q=-1", false},
      {"text/html;q=", false},
      {"text/html, nonsense", false},
      {"text/html, /json", false},
      {"text/html, text/", false},
      {";q=1", false},
  };
  for (const Row& row : rows) {
    Request request;
    request.headers = {{"accept", row.accept}};
    EXPECT_EQ(PrefersPage(request), row.page) << row.accept;
  }
}

TEST(Accept, SeveralHeadersAreOneList) {
  Request request;
  EXPECT_FALSE(PrefersPage(request));
  request.headers = {{"Accept", "text/html"}, {"Accept", "application/json"}};
  EXPECT_FALSE(PrefersPage(request));
  request.headers = {{"Accept", "application/json;q=0.5"}, {"Accept", "text/html"}};
  EXPECT_TRUE(PrefersPage(request));
}

}  // namespace
}  // namespace polybox::http
