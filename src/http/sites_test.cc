#include "http/sites.h"

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"
#include "http/testing/server_fixture.h"

namespace polybox::http {
namespace {

using testing::Answer;
using testing::RawClient;
using testing::ServerTest;

Request RequestWith(Headers headers) {
  Request request;
  request.method = "POST";
  request.target = request.path = "/execute";
  request.headers = std::move(headers);
  return request;
}

const Arrival kLoopback{.client = "127.0.0.1", .on_loopback = true};
const Arrival kNetwork{.client = "10.0.0.1", .on_loopback = false};

std::optional<Fault> Checked(const Sites& sites, Headers headers,
                             const Arrival& arrival = kLoopback) {
  return sites.Check(RequestWith(std::move(headers)), arrival, false);
}

TEST(Sites, OnLoopbackTheHostMustBeALoopbackNameOrListed) {
  const Sites listed = *Sites::Make({"Box.Example.org", "*.intern", "ported:8080", "10.1.2.3"}, {});
  const char* const loopback[] = {
      "localhost", "localhost:8080", "LOCALHOST:1", "localhost.", "a.b.localhost",
      "127.0.0.1", "127.9.8.7:80",   "[::1]",       "[::1]:8080", "[0:0:0:0:0:0:0:1]:80"};
  for (const char* host : loopback) {
    EXPECT_EQ(Checked(Sites(), {{"Host", host}}), std::nullopt) << host;
    EXPECT_EQ(Checked(listed, {{"Host", host}}, kNetwork), std::nullopt) << host;
  }
  for (const char* host : {"box.example.org", "box.example.org:80", "a.intern", "a.b.intern:1",
                           "PORTED:8080", "10.1.2.3:8080", "box.example.org."}) {
    EXPECT_EQ(Checked(Sites(), {{"Host", host}}), Fault::kForeignHost) << host;
    EXPECT_EQ(Checked(listed, {{"Host", host}}), std::nullopt) << host;
    EXPECT_EQ(Checked(listed, {{"Host", host}}, kNetwork), std::nullopt) << host;
  }
  for (const char* host : {"evil.example",
                           "localhost.evil.example",
                           "notlocalhost",
                           "127.0.0.1.evil.example",
                           "128.0.0.1",
                           "0.0.0.0",
                           "[::]",
                           "[::2]",
                           "10.1.2.4",
                           "intern",
                           "ported",
                           "ported:80",
                           "xbox.example.org",
                           "a.box.example.org",
                           "localhost:",
                           "localhost:x",
                           "localhost:99999",
                           "localhost@evil.example",
                           "localhost evil",
                           "",
                           "localhost,evil.example",
                           "0x7f.1",
                           "2130706433",
                           "[::1",
                           "::1"}) {
    EXPECT_EQ(Checked(Sites(), {{"Host", host}}), Fault::kForeignHost) << host;
    EXPECT_EQ(Checked(listed, {{"Host", host}}), Fault::kForeignHost) << host;
    EXPECT_EQ(Checked(listed, {{"Host", host}}, kNetwork), Fault::kForeignHost) << host;
    EXPECT_EQ(Checked(Sites(), {{"Host", host}}, kNetwork), std::nullopt) << host;
  }
}

TEST(Sites, AForeignHostIsNotHiddenBehindAnother) {
  EXPECT_EQ(Checked(Sites(), {{"Host", "localhost"}, {"host", "localhost"}}), Fault::kForeignHost);
  Request request = RequestWith({{"Host", "localhost"}});
  request.target = "http://evil.example/execute";
  EXPECT_EQ(Sites().Check(request, kLoopback, false), Fault::kForeignHost);
  request.target = "http://localhost@evil.example/execute";
  EXPECT_EQ(Sites().Check(request, kLoopback, false), Fault::kForeignHost);
  request.target = "http://127.0.0.1:80?x";
  EXPECT_EQ(Sites().Check(request, kLoopback, false), std::nullopt);
  EXPECT_EQ(Sites().Check(request, kNetwork, false), std::nullopt);
}

TEST(Sites, OnlyProbesMayLackAHost) {
  EXPECT_EQ(Checked(Sites(), {}), Fault::kForeignHost);
  EXPECT_EQ(Sites().Check(RequestWith({}), kLoopback, true), std::nullopt);
  EXPECT_EQ(Checked(Sites(), {}, kNetwork), std::nullopt);
}

TEST(Sites, AnOriginMustBeTheServersOwnOrListed) {
  const Sites listed =
      *Sites::Make({}, {"https://App.example.org:443", "chrome-extension://AbCd", "http://[::1]"});
  const auto with_origin = [](const char* origin) {
    return Headers{{"Host", "localhost:8080"}, {"Origin", origin}};
  };
  EXPECT_EQ(Checked(Sites(), with_origin("http://localhost:8080")), std::nullopt);
  EXPECT_EQ(Checked(Sites(), with_origin("HTTP://LocalHost:8080")), std::nullopt);
  EXPECT_EQ(Checked(Sites(), {{"Host", "localhost"}, {"Origin", "http://localhost:80"}}),
            std::nullopt);
  for (const char* origin : {"https://app.example.org", "https://APP.example.org:443",
                             "chrome-extension://abcd", "http://[0:0::1]:80"}) {
    EXPECT_EQ(Checked(Sites(), with_origin(origin)), Fault::kForeignOrigin) << origin;
    EXPECT_EQ(Checked(listed, with_origin(origin)), std::nullopt) << origin;
  }
  for (const char* origin :
       {"null", "", "http://localhost", "http://localhost:8081", "https://localhost:8080",
        "http://127.0.0.1:8080", "http://evil.example", "https://app.example.org.evil.example",
        "https://app.example.org:444", "http://app.example.org", "https://app.example.org/",
        "https://x@app.example.org", "https://app.example.org https://evil.example", "*",
        "http://localhost:8080, http://evil.example", "chrome-extension://abce", "file://"}) {
    EXPECT_EQ(Checked(Sites(), with_origin(origin)), Fault::kForeignOrigin) << origin;
    EXPECT_EQ(Checked(listed, with_origin(origin)), Fault::kForeignOrigin) << origin;
  }
  Headers two = with_origin("http://localhost:8080");
  two.emplace_back("origin", "http://evil.example");
  EXPECT_EQ(Checked(Sites(), two), Fault::kForeignOrigin);
}

TEST(Sites, ARequestOfAnotherSiteNeedsAListedOrigin) {
  const Sites listed = *Sites::Make({}, {"https://app.example.org"});
  const std::pair<const char*, bool> cases[] = {
      {"same-origin", true}, {"none", true},         {"same-site", false}, {"cross-site", false},
      {"", false},           {"Same-Origin", false}, {"future", false},
  };
  for (const auto& [site, passes] : cases) {
    const auto wanted = passes ? std::nullopt : std::optional(Fault::kForeignOrigin);
    Headers headers = {{"Host", "localhost"}, {"Sec-Fetch-Site", site}};
    EXPECT_EQ(Checked(Sites(), headers), wanted) << site;
    EXPECT_EQ(Checked(listed, headers), wanted) << site;
    EXPECT_EQ(Checked(Sites(), headers, kNetwork), wanted) << site;
    headers.emplace_back("Origin", "http://localhost");
    EXPECT_EQ(Checked(Sites(), headers), wanted) << site;
    headers.back().second = "https://app.example.org";
    EXPECT_EQ(Checked(listed, headers), std::nullopt) << site;
  }
  EXPECT_EQ(Checked(Sites(), {{"Host", "localhost"},
                              {"Sec-Fetch-Site", "same-origin"},
                              {"Sec-Fetch-Site", "cross-site"}}),
            Fault::kForeignOrigin);
}

TEST(Sites, AnInvalidHostOrOriginIsRefusedWithTheForm) {
  for (const char* host : {"", "*", "*.", "http://box", "box/", "*.10.0.0.1", "a b"}) {
    EXPECT_FALSE(Sites::Make({host}, {}).ok()) << host;
    EXPECT_NE(net::ComplaintAboutHost(host), "") << host;
  }
  for (const char* origin : {"", "*", "null", "box", "https://", "https://a/", "https://*.a",
                             "https://a:0", "://a", "https://a:b@c"}) {
    EXPECT_FALSE(Sites::Make({}, {origin}).ok()) << origin;
    EXPECT_NE(net::ComplaintAboutOrigin(origin), "") << origin;
  }
}

class SitesServerTest : public ServerTest {
 protected:
  static std::string From(const std::string& fields, const std::string& first_line) {
    return first_line + " HTTP/1.1\r\n" + fields + "Content-Length: 0\r\n\r\n";
  }
};

constexpr const char* kRebound = "Host: evil.example\r\n";
constexpr const char* kForeign = "Host: localhost\r\nOrigin: https://evil.example\r\n";
constexpr const char* kAllowed = "Host: localhost\r\nOrigin: https://app.example.org\r\n";

TEST_F(SitesServerTest, EveryDoorRefusesInItsOwnWordsBeforeItsHandlerRuns) {
  Start();
  for (const char* path : {"POST /held", "GET /held", "POST /echo", "GET /nowhere", "PUT /echo"}) {
    for (const char* fields : {kRebound, kForeign}) {
      const Answer answer = Ask(From(fields, path));
      EXPECT_EQ(answer.status, 403) << path << fields;
      EXPECT_TRUE(answer.body.starts_with("plain: foreign ")) << answer.body;
      EXPECT_EQ(answer.head.find("Access-Control"), std::string::npos);
    }
  }
  EXPECT_EQ(Ask(From(kForeign, "POST /v1/run")).body, "{\"code\":\"foreign origin\"}\n");
  EXPECT_EQ(Ask(From(kRebound, "OPTIONS /v1/run")).body, "{\"code\":\"foreign host\"}\n");
}

TEST_F(SitesServerTest, WordsOfTheServerNameTheSetting) {
  ServerOptions options = Options();
  options.doors[0].refuse = nullptr;
  Start(std::move(options));
  EXPECT_EQ(Ask(From(kRebound, "GET /hello")).body,
            "403 Forbidden: Host \"evil.example\" is refused: it is neither a loopback name nor "
            "listed in the server's setting allowed-hosts\n");
  EXPECT_EQ(Ask(From(kForeign, "GET /hello")).body,
            "403 Forbidden: Origin \"https://evil.example\" is refused: it is neither the server's "
            "own nor listed in the server's setting allowed-origins\n");
  EXPECT_EQ(Ask(From("Host: localhost\r\nSec-Fetch-Site: same-site\r\n", "GET /hello")).body,
            "403 Forbidden: Sec-Fetch-Site \"same-site\" is refused: a page of another site must "
            "send its Origin, and the server's setting allowed-origins must list that\n");
  EXPECT_EQ(Ask("GET /hello HTTP/1.0\r\n\r\n").body,
            "403 Forbidden: a Host header is needed here: a loopback name, or one that the "
            "server's setting allowed-hosts lists\n");
}

TEST_F(SitesServerTest, ProbesAnswerWithoutAHostAndThoseOpenToPagesAnswerAll) {
  ServerOptions options = Options();
  testing::RouteOf(options.doors, "GET", "/hello").access = Access::kPages;
  testing::RouteOf(options.doors, "GET", "/who").access = Access::kProbes;
  Start(std::move(options));
  EXPECT_EQ(Ask("GET /who HTTP/1.0\r\n\r\n").status, 200);
  EXPECT_EQ(Ask(From(kRebound, "GET /who")).status, 403);
  EXPECT_EQ(Ask(From(kRebound, "GET /hello")).status, 200);
  EXPECT_EQ(Ask(From(kForeign, "GET /hello")).status, 200);
  EXPECT_EQ(Ask("GET /files/a HTTP/1.0\r\n\r\n").status, 403);
}

TEST_F(SitesServerTest, AnAllowedOriginGetsCorsAnswersAndNoOtherDoes) {
  ServerOptions options = Options();
  options.tokens = *Tokens::Parse("first-secret-token\n");
  options.sites = *Sites::Make({}, {"https://app.example.org"});
  Start(std::move(options));
  const std::string preflight = "Access-Control-Request-Method: POST\r\n";
  const Answer allowed = Ask(From(kAllowed + preflight +
                                      "Access-Control-Request-Headers: authorization,x-a\r\n"
                                      "Access-Control-Request-Private-Network: true\r\n",
                                  "OPTIONS /echo"));
  EXPECT_EQ(allowed.status, 204) << "a preflight brings no token";
  EXPECT_EQ(allowed.Header("Access-Control-Allow-Origin"), "https://app.example.org");
  EXPECT_EQ(allowed.Header("Access-Control-Allow-Methods"), "POST");
  EXPECT_EQ(allowed.Header("Access-Control-Allow-Headers"), "authorization,x-a");
  EXPECT_EQ(allowed.Header("Access-Control-Allow-Private-Network"), "true");
  EXPECT_EQ(allowed.Header("Vary"), "Origin");
  const Answer refused = Ask(From(kForeign + preflight, "OPTIONS /echo"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.head.find("Access-Control"), std::string::npos);
  EXPECT_EQ(refused.Header("Cross-Origin-Resource-Policy"), "same-origin");
  EXPECT_EQ(refused.Header("Vary"), "Origin");
  const std::string token = "Authorization: Bearer first-secret-token\r\n";
  const Answer answer = Ask(From(kAllowed + token, "POST /echo"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.Header("Access-Control-Allow-Origin"), "https://app.example.org");
  EXPECT_EQ(answer.Header("Cross-Origin-Resource-Policy"), "cross-origin");
  const Answer unauthorized = Ask(From(kAllowed, "POST /echo"));
  EXPECT_EQ(unauthorized.status, 401) << "a page of an allowed origin needs a token as all do";
  EXPECT_EQ(unauthorized.Header("Access-Control-Allow-Origin"), "https://app.example.org");
  EXPECT_EQ(Ask(From("Host: localhost\r\n" + token, "POST /echo")).head.find("Access-Control"),
            std::string::npos);
}

TEST_F(SitesServerTest, AnswersInPartsHaveTheFieldsToo) {
  ServerOptions options = Options();
  options.sites = *Sites::Make({}, {"https://app.example.org"});
  Start(std::move(options));
  RawClient client(address_);
  client.Send(From(kAllowed, "POST /held"));
  const auto exchange = held_.Take();
  exchange->Begin(testing::Text(200, ""));
  exchange->End();
  EXPECT_EQ(client.Read().Header("Access-Control-Allow-Origin"), "https://app.example.org");
}

TEST_F(SitesServerTest, AUnixSocketTakesAnyHostButNoForeignOrigin) {
  const polybox::testing::TempDir dir;
  const std::string path = dir.path() + "/polybox.sock";
  Server server(Options(), log_);
  ASSERT_TRUE(server.ListenUnix(path).ok());
  server.Start();
  RawClient client = RawClient::Unix(path);
  client.Send(From(kRebound, "GET /hello"));
  EXPECT_EQ(client.Read().status, 200);
  client.Send(From(kForeign, "GET /hello"));
  EXPECT_EQ(client.Read().status, 403);
}

}  // namespace
}  // namespace polybox::http
