#include "mcp/http_post.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "mcp/testing/client.h"

namespace polybox::mcp {
namespace {

using testing::Legacy;
using testing::Modern;

json::Value From(std::string_view text) {
  return json::Parse(text).value();
}

TEST(HttpPost, TheBodySaysWhatItIs) {
  const auto facts = [](std::string_view text) {
    const PostFacts found = LookAt(From(text));
    return std::pair(found.modern, found.has_request);
  };
  EXPECT_EQ(facts(Modern(1, "tools/list")), std::pair(true, true));
  EXPECT_EQ(facts(Legacy(1, "tools/list")), std::pair(false, true));
  EXPECT_EQ(facts(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"),
            std::pair(false, false));
  EXPECT_EQ(facts("[" + Legacy(1, "ping") + ",1]"), std::pair(false, true));
  EXPECT_EQ(facts("[1]"), std::pair(false, false));
  EXPECT_EQ(facts("7"), std::pair(false, false));
}

TEST(HttpPost, TheHeaderSettlesOnAnOlderVersion) {
  EXPECT_EQ(SettledBy({}), Version::k2025_03_26);
  EXPECT_EQ(SettledBy({.version = "2025-11-25"}), Version::k2025_11_25);
  EXPECT_EQ(SettledBy({.version = "2026-07-28"}), std::nullopt);
  EXPECT_EQ(SettledBy({.version = "1900-01-01"}), std::nullopt);
}

TEST(HttpPost, TheHeadersOfAModernRequestMustSayWhatTheBodySays) {
  const std::string call = Modern(1, "tools/call", R"("name":"\u00e4")");
  const std::vector<std::tuple<std::string, PostHeaders, std::string>> rows = {
      {Modern(1, "tools/list"), {"2026-07-28", "tools/list", ""}, ""},
      {Modern(1, "tools/list"),
       {"", "tools/list", ""},
       "Header mismatch: MCP-Protocol-Version is missing"},
      {Modern(1, "tools/list"),
       {"2025-11-25", "tools/list", ""},
       "Header mismatch: MCP-Protocol-Version is '2025-11-25', but the body has '2026-07-28'"},
      {Modern(1, "tools/list"), {"2026-07-28", "", ""}, "Header mismatch: Mcp-Method is missing"},
      {Modern(1, "tools/list"),
       {"2026-07-28", "tools/call", ""},
       "Header mismatch: Mcp-Method is 'tools/call', but the body has 'tools/list'"},
      {call, {"2026-07-28", "tools/call", "=?base64?w6Q=?="}, ""},
      {call, {"2026-07-28", "tools/call", "\xc3\xa4"}, ""},
      {call, {"2026-07-28", "tools/call", ""}, "Header mismatch: Mcp-Name is missing"},
      {call,
       {"2026-07-28", "tools/call", "echo"},
       "Header mismatch: Mcp-Name is 'echo', but the body has '\xc3\xa4'"},
  };
  for (const auto& [body, headers, complaint] : rows) {
    const std::optional<RpcError> wrong = HeaderMismatch(From(body), headers);
    EXPECT_EQ(wrong ? wrong->message : "", complaint);
    if (wrong) {
      EXPECT_EQ(wrong->code, Code::kHeaderMismatch);
    }
  }
}

TEST(HttpPost, EveryErrorHasItsStatus) {
  const PostFacts modern = {.modern = true, .has_modern_meta = true, .has_request = true};
  const PostFacts legacy = {.has_request = true};
  const std::optional<Version> old = Version::k2025_11_25;
  const std::vector<std::tuple<Code, int, int, int>> rows = {
      // the error, and its status for a modern, an older, and an unknown version
      {Code::kInvalidRequest, 400, 400, 400}, {Code::kMethodNotFound, 404, 200, 200},
      {Code::kInvalidParams, 200, 200, 400},  {Code::kUnsupportedVersion, 400, 400, 400},
      {Code::kHeaderMismatch, 400, 400, 400}, {Code::kInternalError, 200, 200, 200},
      {Code::kBusy, 200, 200, 200},
  };
  for (const auto& [code, as_modern, as_legacy, as_unknown] : rows) {
    const json::Value answer = ErrorResponse(json::Value(1), {code, "m"});
    EXPECT_EQ(StatusOf(answer, modern, {}), as_modern) << static_cast<int>(code);
    EXPECT_EQ(StatusOf(answer, legacy, old), as_legacy) << static_cast<int>(code);
    EXPECT_EQ(StatusOf(answer, legacy, {}), as_unknown) << static_cast<int>(code);
  }
  EXPECT_EQ(StatusOf(ErrorResponse(json::Value(1), {Code::kInvalidParams, "m"}),
                     {.modern = true, .has_request = true}, {}),
            400);
  EXPECT_EQ(StatusOf(ErrorResponse({}, {Code::kParseError, "m"}), legacy, old), 400);
  EXPECT_EQ(StatusOf(ResultResponse(json::Value(1), {}), modern, {}), 200);
  EXPECT_EQ(StatusOf(json::Array{}, legacy, old), 200);
}

}  // namespace
}  // namespace polybox::mcp
