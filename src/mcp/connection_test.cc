#include "mcp/connection.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "json/write.h"
#include "mcp/testing/client.h"

namespace polybox::mcp {
namespace {

using testing::Client;
using testing::Legacy;
using testing::Modern;

/// A request and its whole answer.
struct Row {
  std::string sent;
  std::string answer;
};

void ExpectAnswers(Client& client, const std::vector<Row>& rows) {
  for (const Row& row : rows) EXPECT_EQ(client.Ask(row.sent), row.answer) << row.sent;
}

constexpr std::string_view kModernEnd =
    R"("resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":)"
    R"({"name":"polybox","version":"1.2.3","title":"polybox"}}}})";

std::string ModernResult(int id, std::string_view members) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"result":{)" +
         std::string(members) + std::string(kModernEnd);
}

TEST(Connection, AMessageThatIsNoRequestGetsTheErrorOfJsonRpc) {
  Client client;
  ExpectAnswers(
      client,
      {
          {R"({"jsonrpc")",
           R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"not JSON: the text ends too early at byte 10"}})"},
          {"\xff",
           R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"not JSON: syntax error at byte 0"}})"},
          {"5",
           R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"a message is an object, not a number"}})"},
          {R"({"jsonrpc":"2.0","id":null,"method":"ping"})",
           R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"an id is a string or an integer of 64 bits, not null"}})"},
          {R"({"jsonrpc":"2.0","id":{},"method":"ping"})",
           R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"an id is a string or an integer of 64 bits, not an object"}})"},
          {R"({"jsonrpc":"2.0","id":1222222222222222222222222222222222,"method":"ping"})",
           R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"an id is a string or an integer of 64 bits, not another number"}})"},
          {R"({"id":1,"method":"ping"})",
           R"({"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"jsonrpc must be \"2.0\""}})"},
          {R"({"jsonrpc":"1.0","id":1,"method":"ping"})",
           R"({"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"jsonrpc must be \"2.0\""}})"},
          {R"({"jsonrpc":"2.0","id":"a"})",
           R"({"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"method must be a string"}})"},
          {R"({"jsonrpc":"2.0","id":1,"method":7})",
           R"({"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"method must be a string"}})"},
          {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})",
           R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"params must be an object, not an array"}})"},
          {"[]",
           R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"batches exist only up to version 2025-03-26"}})"},
          {std::string(4001, ' '),
           R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"the message is longer than 4000B"}})"},
          {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":)" + std::string(70, '[') +
               std::string(70, ']') + "}",
           R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"not JSON: more than 64 levels of arrays and objects at byte 112"}})"},
      });
}

TEST(Connection, NotificationsAndResponsesAreNeverAnswered) {
  Client client;
  for (const char* sent : {
           R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
           R"({"jsonrpc":"2.0","method":"tools/list"})",
           R"({"jsonrpc":"2.0","method":"unknown","params":[]})",
           R"({"jsonrpc":"2.0","method":"notifications/cancelled"})",
           R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}})",
           R"({"jsonrpc":"2.0","id":1,"result":{}})",
           R"({"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}})",
       }) {
    client.Send(sent);
    EXPECT_EQ(client.CountWhenIdle(), 0U) << sent;
  }
}

TEST(Connection, IdsOfBothKindsComeBackAsTheyWere) {
  Client client;
  for (const char* id : {"0", "-1", "9007199254740993", "\"\"", "\"1\"", "\"\xc3\xa4\""}) {
    EXPECT_EQ(client.Ask(std::string(R"({"jsonrpc":"2.0","id":)") + id + R"(,"method":"ping"})"),
              std::string(R"({"jsonrpc":"2.0","id":)") + id + R"(,"result":{}})");
  }
}

TEST(Connection, InitializeSettlesOnTheVersionOfTheClientOrTheLatest) {
  const std::vector<std::pair<std::string, std::string>> rows = {{"2025-11-25", "2025-11-25"},
                                                                 {"2025-06-18", "2025-06-18"},
                                                                 {"2025-03-26", "2025-03-26"},
                                                                 {"2024-11-05", "2024-11-05"},
                                                                 {"2026-07-28", "2025-11-25"},
                                                                 {"1900-01-01", "2025-11-25"},
                                                                 {"", "2025-11-25"}};
  for (const auto& [asked, settled] : rows) {
    Client client;
    const std::string title = settled >= "2025-06-18" ? R"(,"title":"polybox")" : "";
    EXPECT_EQ(
        client.Ask(Legacy(1, "initialize",
                          R"("protocolVersion":")" + asked +
                              R"(","capabilities":{},"clientInfo":{"name":"c","version":"1"})")),
        R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":")" + settled +
            R"(","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"polybox","version":"1.2.3")" +
            title + R"(},"instructions":"Use the tools."}})");
  }
  Client client;
  EXPECT_EQ(
      client.Ask(Legacy(1, "initialize")),
      R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"protocolVersion must be a string"}})");
}

TEST(Connection, LegacyRequestsAreAnswered) {
  for (const char* version : {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}) {
    Client client;
    client.Initialize(version);
    const bool has_data = std::string_view(version) >= "2025-06-18";
    const std::string data =
        has_data ? R"("structuredContent":{"text":"hi","workspace":"","principal":"test"},)" : "";
    ExpectAnswers(
        client,
        {
            {Legacy(1, "ping"), R"({"jsonrpc":"2.0","id":1,"result":{}})"},
            {Legacy(2, "tools/call", R"("name":"echo","arguments":{"text":"hi"})"),
             R"({"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"hi"}],)" +
                 data + R"("isError":false}})"},
            {Legacy(3, "tools/call", R"("name":"budget","arguments":null)").c_str(),
             has_data
                 ? R"({"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"count 8000"}],"structuredContent":{"count":8000},"isError":false}})"
                 : R"({"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"count 8000"}],"isError":false}})"},
            {Legacy(4, "server/discover"),
             R"({"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"unknown method \"server/discover\""}})"},
            {Legacy(5, "resources/list"),
             R"({"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"unknown method \"resources/list\""}})"},
        });
  }
}

TEST(Connection, ModernRequestsNeedNoHandshake) {
  Client client;
  ExpectAnswers(
      client,
      {
          {Modern(1, "server/discover"),
           ModernResult(
               1,
               R"("supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],)"
               R"("capabilities":{"tools":{},"logging":{}},"ttlMs":300000,"cacheScope":"private",)"
               R"("instructions":"Use the tools.",)")},
          {Modern(2, "tools/call", R"("name":"echo","arguments":{"text":"hi"})"),
           ModernResult(
               2,
               R"("content":[{"type":"text","text":"hi"}],)"
               R"("structuredContent":{"text":"hi","workspace":"","principal":"test"},"isError":false,)")},
          {Modern(3, "ping"),
           R"({"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"unknown method \"ping\""}})"},
          {Modern(4, "tools/list", R"("cursor":"x")"),
           R"({"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"unknown cursor"}})"},
      });
}

TEST(Connection, BothErasAreServedOnOneConnection) {
  Client client;
  client.Initialize("2025-03-26");
  EXPECT_NE(client.Ask(Modern(1, "tools/list")).find("\"ttlMs\":300000"), std::string::npos);
  EXPECT_EQ(client.Ask(Legacy(2, "tools/list")).find("ttlMs"), std::string::npos);
}

TEST(Connection, AModernRequestMustNameAKnownVersionAndCapabilities) {
  const std::string key = R"("io.modelcontextprotocol/protocolVersion":)";
  const auto with_meta = [](const std::string& meta) {
    return Legacy(1, "tools/list", R"("_meta":{)" + meta + "}");
  };
  const std::string error = R"({"jsonrpc":"2.0","id":1,"error":{"code":)";
  const std::string unsupported =
      error +
      R"(-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":)";
  Client client;
  ExpectAnswers(
      client,
      {
          {with_meta(key + R"("1900-01-01")"), unsupported + R"("1900-01-01"}}})"},
          {with_meta(key + R"("2025-11-25")"), unsupported + R"("2025-11-25"}}})"},
          {with_meta(key + "1"),
           error +
               R"(-32602,"message":"_meta[\"io.modelcontextprotocol/protocolVersion\"] must be a string"}})"},
          {with_meta(key + R"("2026-07-28")"),
           error +
               R"(-32602,"message":"_meta[\"io.modelcontextprotocol/clientCapabilities\"] must be an object"}})"},
          {Legacy(1, "tools/list"),
           error +
               R"(-32602,"message":"_meta[\"io.modelcontextprotocol/protocolVersion\"] is missing; clients of versions up to 2025-11-25 send initialize first"}})"},
      });
}

TEST(Connection, WrongCallsOfTools) {
  Client client;
  const std::string error = R"({"jsonrpc":"2.0","id":1,"error":{"code":)";
  ExpectAnswers(
      client,
      {
          {Modern(1, "tools/call"), error + R"(-32602,"message":"name must be a string"}})"},
          {Modern(1, "tools/call", R"("name":"ecko")"),
           error + R"(-32602,"message":"unknown tool \"ecko\"; did you mean \"echo\"?"}})"},
          {Modern(1, "tools/call", R"("name":"echo","arguments":{"tex":1})"),
           ModernResult(
               1,
               R"("content":[{"type":"text","text":"arguments.text is missing; arguments.tex is unknown; did you mean \"text\"?"}],"isError":true,)")},
          {Modern(1, "tools/call", R"("name":"fail")"),
           ModernResult(
               1, R"("content":[{"type":"text","text":"no such file\nTry: ls"}],"isError":true,)")},
          {Modern(1, "tools/call", R"("name":"throw")"),
           error + R"(-32603,"message":"internal error; the log of polybox has the cause"}})"},
      });
  EXPECT_NE(client.log().find("a defect"), std::string::npos) << client.log();
}

TEST(Connection, BatchesBelongToTheOldVersions) {
  Client client;
  client.Initialize("2025-03-26");
  const auto batch = [](std::initializer_list<std::string> messages) {
    std::string text = "[";
    for (const std::string& message : messages) text += (text == "[" ? "" : ",") + message;
    return text + "]";
  };
  const std::string note = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
  const std::string error = R"({"jsonrpc":"2.0","error":{"code":-32600,"message":)";
  ExpectAnswers(
      client, {
                  {batch({Legacy(1, "ping"), note, "7"}),
                   R"([{"jsonrpc":"2.0","id":1,"result":{}},)" + error +
                       R"("a message is an object, not a number"}}])"},
                  {"[]", error + R"("a batch must not be empty"}})"},
                  {"[1,2,3,4,5]", error + R"("the batch has 5 messages; at most 4 are allowed"}})"},
              });
  client.Send(batch({note, note}));
  EXPECT_EQ(client.CountWhenIdle(), 0U);
  const std::string call = R"("name":"echo","arguments":{"text":")";
  const json::Value answers =
      json::Parse(client.Ask(batch({Legacy(1, "tools/call", call + "a\"}"),
                                    Legacy(2, "tools/call", call + "b\"}"), Legacy(3, "ping")})))
          .value();
  EXPECT_EQ(answers.as_array().size(), 3U);
  client.Initialize("2025-06-18");
  EXPECT_EQ(client.Ask(batch({Legacy(1, "ping")})),
            error + R"("batches exist only up to version 2025-03-26"}})");
}

TEST(Connection, ACancelledCallStopsAndIsNotAnswered) {
  Client client;
  client.Send(Modern(1, "tools/call", R"("name":"wait")"));
  client.Send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}})");
  client.Send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})");
  EXPECT_EQ(client.CountWhenIdle(), 0U);
}

TEST(Connection, ACancelledCallLeavesItsBatch) {
  Client client;
  client.Initialize("2025-03-26");
  client.Send("[" + Legacy(1, "ping") + "," + Legacy(2, "tools/call", R"("name":"wait")") + "]");
  EXPECT_EQ(client.Ask(
                R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})"),
            R"([{"jsonrpc":"2.0","id":1,"result":{}}])");
}

TEST(Connection, AllCallsStopWithTheConnection) {
  Client client;
  for (int id = 1; id <= 5; ++id) client.Send(Modern(id, "tools/call", R"("name":"wait")"));
  client.connection().CancelAll();
  EXPECT_EQ(client.CountWhenIdle(), 0U);
}

TEST(Connection, AnIdIsFreeAgainWhenItsCallHasEnded) {
  Client client;
  client.Send(Modern(1, "tools/call", R"("name":"wait")"));
  EXPECT_EQ(
      client.Ask(Modern(1, "tools/call", R"("name":"budget")")),
      R"({"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a request with this id runs already"}})");
  client.connection().CancelAll();
  EXPECT_EQ(client.CountWhenIdle(), 0U);
  EXPECT_NE(client.Ask(Modern(1, "tools/call", R"("name":"budget")")).find("count 8000"),
            std::string::npos);
}

TEST(Connection, ProgressIsReportedToThoseWhoAskForIt) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"2025-11-25", R"(,"total":3,"message":"step"}})"}, {"2024-11-05", R"(,"total":3}})"}};
  for (const auto& [version, end] : rows) {
    Client client;
    client.Initialize(version);
    client.Send(Legacy(1, "tools/call", R"("name":"wait","_meta":{"progressToken":"t"})"));
    for (int i = 1; i <= 3; ++i) {
      EXPECT_EQ(client.Take(), R"({"jsonrpc":"2.0","method":"notifications/progress","params":)"
                               R"({"progressToken":"t","progress":)" +
                                   std::to_string(i) + end);
    }
    client.connection().CancelAll();
    EXPECT_EQ(client.CountWhenIdle(), 0U);
  }
}

TEST(Connection, MoreCallsThanMayWaitAreRefusedAtOnce) {
  Client client(StructuredOutput::kAuto, {.threads = 1, .waiting = 1});
  client.Send(Modern(1, "tools/call", R"("name":"wait")"));
  std::string refused;
  // The first call may still wait for its thread when the second one comes.
  for (int id = 2; id <= 4; ++id) client.Send(Modern(id, "tools/call", R"("name":"wait")"));
  refused = client.Take();
  EXPECT_NE(
      refused.find(
          R"("error":{"code":-32000,"message":"too many calls wait already; try again later"})"),
      std::string::npos)
      << refused;
  client.connection().CancelAll();
}

TEST(Connection, ManyCallsAtOnceAreAllAnswered) {
  Client client;
  for (int id = 1; id <= 200; ++id) {
    client.Send(Modern(id, "tools/call", R"("name":"echo","arguments":{"text":"x"})"));
  }
  std::set<std::int64_t> ids;
  for (int i = 1; i <= 200; ++i) {
    ids.insert(json::Parse(client.Take()).value().as_object().at("id").as_int64());
  }
  EXPECT_EQ(ids.size(), 200U);
}

}  // namespace
}  // namespace polybox::mcp
