#include "obs/tool_call.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "obs/agent_metrics.h"
#include "obs/audit_log.h"
#include "obs/span_json.h"

namespace polybox::obs {
namespace {

constexpr const char* kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

ToolCall Call(std::string tool, CallStatus status = CallStatus::kOk) {
  ToolCall call;
  call.tool = std::move(tool);
  call.status = status;
  call.principal = "token-1";
  call.workspace = "api";
  call.method = "tools/call";
  call.protocol_version = "2026-07-28";
  call.request_id = "\"a\\\"b\"";
  call.argument_bytes = 12;
  call.answer_bytes = 34;
  call.start = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'785'249'022'007));
  call.time = std::chrono::microseconds(1500);
  return call;
}

TEST(TraceParentText, IsReadAsTheStandardHasIt) {
  const std::optional<TraceParent> parent = ParseTraceParent(kParent);
  ASSERT_TRUE(parent);
  EXPECT_EQ(parent->trace_id, "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(parent->span_id, "b7ad6b7169203331");
  EXPECT_TRUE(parent->sampled);
  EXPECT_FALSE(
      ParseTraceParent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")->sampled);
  EXPECT_TRUE(
      ParseTraceParent("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-09-more")->sampled);
  for (const char* wrong : {"", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
                            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
                            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                            "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}) {
    EXPECT_FALSE(ParseTraceParent(wrong)) << wrong;
  }
}

TEST(SpanJson, HasTheNameAndTheAttributesAndContinuesTheTrace) {
  ToolCall call = Call("Read", CallStatus::kError);
  call.parent = ParseTraceParent(kParent);
  call.trace_state = "vendor=1";
  const Span span = MakeSpan(call);
  const std::string text = SpansJson(std::vector{span}, "0.1.0");
  for (const char* part :
       {R"("traceId":"0af7651916cd43dd8448eb211c80319c")", R"("parentSpanId":"b7ad6b7169203331")",
        R"("traceState":"vendor=1")", R"("name":"tool.Read")", R"("kind":2)",
        R"("startTimeUnixNano":"1785249022007000000","endTimeUnixNano":"1785249022008500000")",
        R"({"key":"tool.status","value":{"stringValue":"error"}})",
        R"({"key":"tool.duration_ms","value":{"intValue":"1"}})",
        R"({"key":"jsonrpc.request.id","value":{"stringValue":"\"a\\\"b\""}})",
        R"({"key":"error.type","value":{"stringValue":"tool_error"}})", R"("status":{"code":2})",
        R"({"key":"service.name","value":{"stringValue":"codegen-sandbox"}})"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(SpanJson, ASpanWithoutAParentHasIdsOfItsOwn) {
  const Span one = MakeSpan(Call("Read"));
  const Span other = MakeSpan(Call("Read"));
  EXPECT_EQ(one.trace_id.size(), 32U);
  EXPECT_EQ(one.span_id.size(), 16U);
  EXPECT_NE(one.trace_id, other.trace_id);
  EXPECT_EQ(SpansJson(std::vector{one}, "x").find("parentSpanId"), std::string::npos);
}

TEST(AuditLogFile, HasALineForEachEventAndIsForItsOwnerAlone) {
  const polybox::testing::TempDir folder;
  const std::string path = folder.path() + "/audit.jsonl";
  std::ostringstream lines;
  {
    Result<AuditLog> log = AuditLog::Open(path, log::Logger::ToStream(lines, {}));
    ASSERT_TRUE(log.ok()) << log.error().message();
    ToolCall call = Call("Bash", CallStatus::kTimeout);
    call.exit_code = 124;
    call.parent = ParseTraceParent(kParent);
    log->Record(call);
    log->Record(SecretAccess{.name = "db\n", .principal = "p", .source = "env", .bytes = 7});
  }
  const std::string text = ReadFile(path).value();
  EXPECT_TRUE(text.starts_with(
      R"({"time":"2026-07-28T14:30:22.007Z","event":"tool_call","tool":"Bash","status":"timeout",)"
      R"("principal":"token-1","workspace":"api","request_id":"\"a\\\"b\"","argument_bytes":12,)"
      R"("answer_bytes":34,"duration_ms":1.500,"exit_code":124,)"
      R"("trace_id":"0af7651916cd43dd8448eb211c80319c"})"
      "\n"))
      << text;
  EXPECT_NE(
      text.find(R"("event":"secret","secret":"db\n","principal":"p","source":"env","bytes":7})"),
      std::string::npos)
      << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 2);
  EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(path).permissions()), 0600U);
  EXPECT_EQ(lines.str(), "");
  EXPECT_FALSE(AuditLog::Open(folder.path(), log::Logger::ToStream(lines, {})).ok());
}

TEST(AgentMetricsPage, CountsCallsDetailsAndRepetitions) {
  AgentMetrics metrics({.scrub_hits = [] { return std::vector<KeptCounters::Value>{{{"jwt"}, 2}}; },
                        .scrubbed_bytes = [] { return 99.0; }});
  ToolCall read = Call("Read");
  read.read_bytes = 10;
  for (int i = 0; i < 5; ++i) metrics.CallEnded(read);
  ToolCall bash = Call("Bash", CallStatus::kTimeout);
  bash.exit_code = 124;
  bash.arguments_hash = 1;
  metrics.CallEnded(bash);
  ToolCall outside = Call("Write", CallStatus::kDenied);
  outside.left_workspace = true;
  metrics.CallEnded(outside);
  ToolCall negative = Call("Bash");
  negative.exit_code = -1;
  metrics.CallEnded(negative);
  std::string text;
  metrics.AppendTo(text);
  for (const char* line :
       {"sandbox_tool_calls_total{tool=\"Read\",status=\"ok\",language=\"\"} 5\n",
        "sandbox_tool_calls_total{tool=\"Write\",status=\"denied\",language=\"\"} 1\n",
        "sandbox_read_bytes_total 50\n", "sandbox_bash_exit_codes_total{exit=\"timeout(124)\"} 1\n",
        "sandbox_bash_exit_codes_total{exit=\">=129\"} 1\n", "sandbox_path_violations_total 1\n",
        "sandbox_scrub_hits_total{pattern=\"jwt\"} 2\n", "sandbox_scrub_bytes_redacted_total 99\n",
        "sandbox_agent_tool_repetition_total{tool=\"Read\"} 1\n",
        "sandbox_agent_tool_error_rate 0.25\n",
        "sandbox_tool_duration_seconds_bucket{tool=\"Read\",le=\"0.01\"} 5\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

}  // namespace
}  // namespace polybox::obs
