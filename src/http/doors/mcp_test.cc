#include "http/doors/mcp.h"

#include <chrono>
#include <sstream>

#include <gtest/gtest.h>

#include "http/testing/fakes.h"
#include "tools/testing/sample_tools.h"

namespace polybox::http {
namespace {

using testing::FakeExchange;

constexpr const char* kMeta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientCapabilities":{},"progressToken":"t"})";

class McpDoor : public ::testing::Test {
 protected:
  /// Sends the body and waits for the end of its calls.
  std::shared_ptr<FakeExchange> Post(const std::string& body, Headers headers = {}) {
    const auto exchange = Start(body, std::move(headers));
    EXPECT_TRUE(calls_.AwaitIdle(std::chrono::seconds(10)));
    return exchange;
  }
  std::shared_ptr<FakeExchange> Start(const std::string& body, Headers headers = {}) {
    Request request;
    request.method = "POST";
    request.path = "/mcp";
    request.headers = std::move(headers);
    if (request.Header("Content-Type").empty()) {
      request.headers.emplace_back("Content-Type", "application/json");
    }
    request.body = body;
    request.client = "token-2";
    auto exchange = std::make_shared<FakeExchange>(std::move(request));
    door_.routes.at(0).handler(exchange);
    return exchange;
  }
  static std::string Modern(const std::string& method, const std::string& params = "") {
    return R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":{)" + kMeta +
           (params.empty() ? "" : ",") + params + "}}";
  }
  static Headers ModernHeaders(const std::string& method, const std::string& name = "") {
    Headers headers = {{"mcp-protocol-version", "2026-07-28"},
                       {"Mcp-Method", method},
                       {"Accept", "application/json, text/event-stream"}};
    if (!name.empty()) headers.emplace_back("Mcp-Name", name);
    return headers;
  }

  std::ostringstream lines_;
  log::Logger log_ = log::Logger::ToStream(lines_, {});
  mcp::Dispatcher dispatcher_{{.tools = tools::testing::SampleRegistry(), .version = "1"}, log_};
  mcp::CallPool calls_{mcp::CallLimits{}};
  Door door_ = MakeMcpDoor({.dispatcher = &dispatcher_, .calls = &calls_});
};

TEST_F(McpDoor, AnswersAModernCallAsJsonWithTheClientAsPrincipal) {
  const auto exchange = Post(Modern("tools/call", R"("name":"echo","arguments":{"text":"hi"})"),
                             ModernHeaders("tools/call", "echo"));
  EXPECT_EQ(exchange->response.status, 200);
  EXPECT_EQ(exchange->response.content_type, "application/json");
  EXPECT_NE(exchange->response.body.find(R"("principal":"token-2")"), std::string::npos)
      << exchange->response.body;
  EXPECT_EQ(exchange->answers, 1);
}

TEST_F(McpDoor, AnOlderClientMayIgnoreItsSession) {
  const std::string hello =
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}})";
  const auto first = Post(hello);
  EXPECT_NE(first->response.body.find(R"("protocolVersion":"2025-06-18")"), std::string::npos);
  EXPECT_EQ(first->Header("Mcp-Session-Id").size(), 36U);
  const auto noted = Post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  EXPECT_EQ(noted->response.status, 202);
  EXPECT_EQ(noted->response.body, "");
  const auto second = Post(R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})",
                           {{"MCP-Protocol-Version", "2025-06-18"}});
  EXPECT_NE(second->response.body.find("outputSchema"), std::string::npos);
  const auto batch = Post(R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])");
  EXPECT_EQ(batch->response.body, R"([{"jsonrpc":"2.0","id":1,"result":{}}])");
}

TEST_F(McpDoor, EachErrorHasItsStatus) {
  struct Case {
    std::string body;
    Headers headers;
    int status;
    std::string code;
  };
  const std::string list = R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})";
  const std::vector<Case> cases = {
      {"{", {}, 400, "-32700"},
      {"7", {}, 400, "-32600"},
      {list, {{"Content-Type", "text/plain"}}, 415, "-32600"},
      {list, {{"MCP-Protocol-Version", "2026-07-28"}}, 400, "-32602"},
      {list, {{"MCP-Protocol-Version", "1900-01-01"}}, 400, "-32602"},
      {Modern("tools/list"), {}, 400, "-32020"},
      {Modern("tools/list"), ModernHeaders("tools/call", "x"), 400, "-32020"},
      {Modern("tools/call", R"("name":"echo")"), ModernHeaders("tools/call", "fail"), 400,
       "-32020"},
      {Modern("resources/list"), ModernHeaders("resources/list"), 404, "-32601"},
      {Modern("tools/call", R"("name":"none")"), ModernHeaders("tools/call", "none"), 200,
       "-32602"},
  };
  for (const Case& each : cases) {
    const auto exchange = Post(each.body, each.headers);
    EXPECT_EQ(exchange->response.status, each.status) << each.body;
    EXPECT_NE(exchange->response.body.find("\"code\":" + each.code), std::string::npos)
        << exchange->response.body;
    EXPECT_EQ(exchange->answers, 1);
  }
}

TEST_F(McpDoor, ProgressComesAsEventsAndALeavingClientCancels) {
  const auto exchange =
      Start(Modern("tools/call", R"("name":"wait")"), ModernHeaders("tools/call", "wait"));
  ASSERT_TRUE(exchange->disconnect);
  exchange->disconnect();
  ASSERT_TRUE(calls_.AwaitIdle(std::chrono::seconds(10)));
  EXPECT_FALSE(exchange->ended) << "a cancelled call has no answer";
  // The call may be cancelled before its first report.
  if (exchange->streaming) {
    EXPECT_EQ(exchange->response.content_type, "text/event-stream");
    EXPECT_EQ(exchange->Header("X-Accel-Buffering"), "no");
    EXPECT_TRUE(exchange->written.starts_with(
        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\""))
        << exchange->written;
  }
}

TEST_F(McpDoor, RefusalsAreJsonRpc) {
  for (const Fault fault : {Fault::kMethodNotAllowed, Fault::kUnauthorized, Fault::kForeignOrigin,
                            Fault::kBodyTooLarge, Fault::kDraining, Fault::kInternal}) {
    const Response response = door_.refuse(fault, Request{});
    EXPECT_GE(response.status, 400);
    EXPECT_TRUE(response.body.starts_with(R"({"jsonrpc":"2.0","error":{"code":-32)"))
        << response.body;
  }
  EXPECT_TRUE(MakeMcpDoor({}).routes.empty());
}

}  // namespace
}  // namespace polybox::http
