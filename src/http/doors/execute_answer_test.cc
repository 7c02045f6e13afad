// What the door of the execute dialect answers: results, refusals, faults, streams.
#include <csignal>

#include <gtest/gtest.h>

#include "http/doors/execute.h"
#include "http/doors/execute_body.h"
#include "http/doors/testing/execute_door.h"

namespace polybox::http {
namespace {

using jail::End;
using testing::ExecuteDoorTest;
using testing::FakeExchange;
using testing::Get;
using testing::Post;
using testing::Send;

exec::Report Ran(End end, int exit_code, int signal) {
  exec::Report report;
  report.run.emplace();
  report.run->outcome.end = end;
  report.run->outcome.exit_code = exit_code;
  report.run->outcome.signal = signal;
  report.run->outcome.wall = std::chrono::microseconds(12900);
  report.isolation = jail::Grade::kFull;
  return report;
}

/// The additional members when no value is known.
std::string Rest(const std::string& outcome) {
  return outcome +
         R"(,"stdout_truncated":false,"stderr_truncated":false,"cpu_time_ms":null,)"
         R"("memory_peak_bytes":null,"queue_ms":0,"install_time_ms":0,"compile_time_ms":0,)"
         R"("isolation":"full","language":"python","timeout_seconds":5})"
         "\n";
}

TEST_F(ExecuteDoorTest, EveryEndHasItsRowOfTheOutcomeTable) {
  struct Case {
    End end;
    int exit_code;
    int signal;
    std::string status;
    int wire_code;
    std::string err;
    std::string outcome;
  };
  const std::string plain = R"("timed_out":false,"signal":null,"oom_killed":false)";
  const std::string killed = R"("timed_out":true,"signal":"SIGKILL","oom_killed":false)";
  const std::vector<Case> cases = {
      {End::kExited, 0, 0, "success", 0, "", plain},
      {End::kExited, 3, 0, "error", 3, "", plain},
      {End::kExited, 137, 0, "error", 137, "", plain},
      {End::kSignalled, 0, SIGSEGV, "error", -1, "",
       R"("timed_out":false,"signal":"SIGSEGV","oom_killed":false)"},
      {End::kTimedOut, 0, SIGKILL, "error", -1, "execution timed out after 5 seconds", killed},
      {End::kCpuLimit, 0, SIGKILL, "error", -1, "execution used up its processor time", killed},
      {End::kOutOfMemory, 0, SIGKILL, "error", -1, "",
       R"("timed_out":false,"signal":"SIGKILL","oom_killed":true)"},
      {End::kSetupFailed, 0, 0, "error", -1, "failed to start: why", plain},
      {End::kCancelled, 0, 0, "error", -1, "execution was cancelled", plain},
  };
  for (const Case& c : cases) {
    exec::Report report = Ran(c.end, c.exit_code, c.signal);
    report.run->outcome.setup_failure = "why";
    EXPECT_EQ(BodyFor(report), R"({"status":")" + c.status + R"(","stdout":"","stderr":")" + c.err +
                                   R"(","exit_code":)" + std::to_string(c.wire_code) +
                                   R"(,"execution_time_ms":12,)" + Rest(c.outcome));
  }
}

TEST_F(ExecuteDoorTest, ATimeoutKeepsWhatWasSaid) {
  exec::Report report = Ran(End::kTimedOut, 0, SIGKILL);
  report.run->out = "part";
  report.run->err = "warning";
  const std::string body = BodyFor(report);
  EXPECT_NE(body.find(R"("stdout":"part","stderr":"warning","exit_code":-1)"), std::string::npos)
      << body;
}

TEST_F(ExecuteDoorTest, LoweredLimitsOfBothStepsAreSaidOnce) {
  exec::Report report = Ran(End::kExited, 0, 0);
  report.compile.emplace().outcome.limits_lowered = {"open files: 64", "stack: 1"};
  report.run->outcome.limits_lowered = {"stack: 1", "processes: 2"};
  const std::string body = BodyFor(report);
  EXPECT_NE(body.find(R"("limits_lowered":["open files: 64","stack: 1","processes: 2"])"),
            std::string::npos)
      << body;
}

TEST_F(ExecuteDoorTest, AFailedInstallationRunsNothing) {
  exec::Report report;
  report.isolation = jail::Grade::kFull;
  report.install_failure = "exit status 1: no such package";
  EXPECT_EQ(
      BodyFor(report),
      R"({"status":"error","stdout":"","stderr":"package installation failed: exit status 1: no such package",)"
      R"("exit_code":-1,"execution_time_ms":0,)" +
          Rest(R"("timed_out":false,"signal":null,"oom_killed":false)"));
}

TEST_F(ExecuteDoorTest, AFailedCompilationIsAnErrorWithTheCompilersWords) {
  exec::Report report;
  report.compile = Ran(End::kExited, 2, 0).run;
  report.compile->out = "o";
  report.compile->err = "script.go:1: expected";
  std::string body = BodyFor(report);
  EXPECT_TRUE(body.starts_with(
      R"({"status":"error","stdout":"o","stderr":"script.go:1: expected","exit_code":2,"execution_time_ms":0,)"))
      << body;
  EXPECT_NE(body.find("\"compile_time_ms\":12"), std::string::npos);
  report.compile->err.clear();
  report.compile->outcome.end = End::kTimedOut;
  body = BodyFor(report);
  EXPECT_NE(body.find(R"("stderr":"compilation timed out","exit_code":-1)"), std::string::npos)
      << body;
}

TEST_F(ExecuteDoorTest, EverythingMeasuredIsShown) {
  exec::Report report = Ran(End::kExited, 0, 0);
  report.run->out = "<\xff>";
  report.run->out_truncated = true;
  report.run->outcome.cpu_user = std::chrono::milliseconds(7);
  report.run->outcome.cpu_system = std::chrono::milliseconds(2);
  report.run->outcome.memory_peak = Bytes(4096);
  report.run->outcome.oom_kills = 1;
  report.compile = Ran(End::kExited, 0, 0).run;
  report.compile->err = "warning";
  report.queued = std::chrono::milliseconds(3);
  report.install = std::chrono::milliseconds(4);
  report.artifacts = {{"sub/b", "\x01"}, {"a.txt", "hi"}};
  report.artifacts_left_out = {"big"};
  EXPECT_EQ(
      BodyFor(report),
      R"({"status":"success","stdout":"\u003c\ufffd\u003e","stderr":"","exit_code":0,"execution_time_ms":12,)"
      R"("files_produced":{"a.txt":"aGk=","sub/b":"AQ=="},"timed_out":false,"signal":null,"oom_killed":true,)"
      R"("stdout_truncated":true,"stderr_truncated":false,"cpu_time_ms":9,"memory_peak_bytes":4096,)"
      R"("queue_ms":3,"install_time_ms":4,"compile_time_ms":12,"isolation":"full","language":"python",)"
      R"("timeout_seconds":5,"compile_output":"warning","files_left_out":["big"]})"
      "\n");
}

TEST_F(ExecuteDoorTest, RefusalsHaveTheirStatus) {
  using exec::RefusalKind;
  struct Case {
    RefusalKind kind;
    int status;
    std::string error;
    std::string retry;
  };
  const std::vector<Case> cases = {
      {RefusalKind::kBusy, 429, "at capacity (4/3 concurrent executions)", "1"},
      {RefusalKind::kQueueTimeout, 429, "at capacity (4/3 concurrent executions)", "1"},
      {RefusalKind::kDraining, 503, "the server is shutting down", "1"},
      {RefusalKind::kCancelled, 503, "execution was cancelled", ""},
      {RefusalKind::kInvalid, 400, "why", ""},
      {RefusalKind::kUnavailable, 400, "why", ""},
      {RefusalKind::kFailed, 500, "why", ""},
  };
  for (const Case& c : cases) {
    executor_.answer =
        exec::Refusal{c.kind, "why", Duration(), c.kind == RefusalKind::kBusy ? 4 : 0};
    const auto exchange = Execute(R"({"code":"x"})");
    EXPECT_EQ(exchange->response.status, c.status);
    EXPECT_EQ(exchange->response.body, "{\"error\":\"" + c.error + "\"}\n");
    EXPECT_EQ(exchange->Header("Retry-After"), c.retry);
  }
}

TEST_F(ExecuteDoorTest, FaultsAreInTheDialectsShape) {
  const Door door = MakeExecuteDoor(executor_, options_, nullptr);
  EXPECT_TRUE(door.fault_prefixes.empty());
  const auto says = [&](Fault fault, int status, const std::string& type, const std::string& body) {
    const Response response = door.refuse(fault, Request());
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(response.content_type, type);
    EXPECT_EQ(response.body, body + "\n");
  };
  says(Fault::kNotFound, 404, "text/plain; charset=utf-8", "404 page not found");
  says(Fault::kMethodNotAllowed, 405, "text/plain; charset=utf-8", "Method Not Allowed");
  says(Fault::kBodyTooLarge, 413, "application/json",
       R"({"error":"invalid request: http: request body too large"})");
  says(Fault::kOverloaded, 503, "application/json",
       R"({"error":"too many requests are being read"})");
  says(Fault::kUnauthorized, 401, "application/json", R"({"error":"a valid token is required"})");
  says(Fault::kInternal, 500, "application/json", R"({"error":"internal server error"})");
}

TEST_F(ExecuteDoorTest, AClientThatGoesAwayEndsItsRun) {
  executor_.answer.reset();
  const auto exchange = Execute(R"({"code":"x"})");
  EXPECT_EQ(exchange->answers, 0);
  exchange->disconnect();
  EXPECT_EQ(executor_.cancelled, 1);
}

Request Streaming() {
  Request request = Post("/execute", R"({"code":"x"})");
  request.headers.emplace_back("accept", "application/json, text/event-stream");
  return request;
}

TEST_F(ExecuteDoorTest, OutputIsStreamedInWholeCharacters) {
  executor_.answer = Ran(End::kExited, 0, 0);
  executor_.during = [](const exec::Request& request) {
    using exec::StepKind;
    using exec::Stream;
    request.on_output(StepKind::kCompile, Stream::kErr, "warn\n");
    request.on_output(StepKind::kRun, Stream::kOut, "a\xe2\x82");
    request.on_output(StepKind::kRun, Stream::kErr, "\xf0\x9f");
    request.on_output(StepKind::kRun, Stream::kOut,
                      "\xac"
                      "b");
    request.on_output(StepKind::kRun, Stream::kOut, std::string(30, 'x'));
    request.on_output(StepKind::kRun, Stream::kOut, "more");
  };
  const auto exchange = Ask(Streaming());
  EXPECT_TRUE(exchange->streaming);
  EXPECT_TRUE(exchange->ended);
  EXPECT_EQ(exchange->answers, 1);
  EXPECT_EQ(exchange->response.content_type, "text/event-stream");
  const std::string events =
      "event: stderr\ndata: {\"data\":\"warn\\n\",\"step\":\"compile\"}\n\n"
      "event: stdout\ndata: {\"data\":\"a\"}\n\n"
      "event: stdout\ndata: {\"data\":\"\u20acb\"}\n\n"
      "event: stdout\ndata: {\"data\":\"" +
      std::string(15, 'x') +
      "\"}\n\n"
      "event: truncated\ndata: {\"stream\":\"stdout\"}\n\n"
      "event: stderr\ndata: {\"data\":\"\\ufffd\\ufffd\"}\n\n"
      "event: result\ndata: {\"status\":\"success\",";
  EXPECT_EQ(exchange->written.substr(0, events.size()), events);
  EXPECT_TRUE(exchange->written.ends_with("}\n\n"));
}

TEST_F(ExecuteDoorTest, ARefusalBeforeAnyOutputKeepsItsStatusInAStream) {
  executor_.answer = exec::Refusal{exec::RefusalKind::kBusy, "", Duration(), 4};
  EXPECT_EQ(Ask(Streaming())->response.status, 429);
  executor_.answer = exec::Refusal{exec::RefusalKind::kFailed, "slot lost", Duration(), 0};
  executor_.during = [](const exec::Request& request) {
    request.on_output(exec::StepKind::kRun, exec::Stream::kOut, "a");
  };
  const auto exchange = Ask(Streaming());
  EXPECT_EQ(exchange->response.status, 200);
  EXPECT_TRUE(exchange->ended);
  EXPECT_TRUE(exchange->written.ends_with("event: error\ndata: {\"error\":\"slot lost\"}\n\n"));
}

TEST_F(ExecuteDoorTest, EveryErrorNamesUnknownMembersAsWell) {
  commands_ = [](const auto&, const CommandCall&) {};
  const std::string named =
      R"("warnings":["unknown member \"langauge\"; did you mean \"language\"?"]})";
  std::string many = R"({"langauge":"bash","code":"x","args":[)";
  for (std::size_t i = 0; i < kMostItems; ++i) many += R"("",)";
  for (const std::string& body :
       {std::string(R"({"langauge":"bash","timeout_seconds":"5","code":"x"})"), many + R"(""]})",
        std::string(R"({"code":1,"langauge":"bash"})"),
        std::string(R"({"langauge":"bash","command":"x","code":"y"})"),
        std::string(R"({"langauge":"bash"})")}) {
    EXPECT_NE(Error(body).find(named), std::string::npos) << Error(body);
  }
  for (const auto kind : {exec::RefusalKind::kInvalid, exec::RefusalKind::kUnavailable,
                          exec::RefusalKind::kBusy, exec::RefusalKind::kFailed}) {
    executor_.answer = exec::Refusal{kind, "why", Duration(), 0};
    const std::string body = Execute(R"({"langauge":"bash","code":"x"})")->response.body;
    EXPECT_NE(body.find(named), std::string::npos) << body;
  }
}

TEST_F(ExecuteDoorTest, ABodyWithACommandGoesToTheRuntimeApi) {
  std::vector<CommandCall> calls;
  commands_ = [&](const auto& exchange, const CommandCall& call) {
    calls.push_back(call);
    exchange->Respond({});
  };
  Execute(R"({"command":"echo hi"})");
  Execute(R"({"Command":"","timeout_seconds":4,"code":null})");
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].command, "echo hi");
  EXPECT_FALSE(calls[0].timeout.has_value());
  EXPECT_EQ(calls[1].timeout, std::chrono::seconds(4));
  EXPECT_EQ(Error(R"({"command":"x","code":"y"})"),
            "{\"error\":\"code and command exclude each other\"}\n");
  EXPECT_EQ(Error(R"({"command":null})"), "{\"error\":\"code is required\"}\n");
  const auto mistyped = Execute(R"({"command": [1, "a"]})");
  EXPECT_EQ(mistyped->response.status, 422);
  EXPECT_EQ(mistyped->response.body,
            R"({"detail":[{"type":"string_type","loc":["body","command"],)"
            R"("msg":"Input should be a valid string","input":[1, "a"]}]})");
  commands_ = nullptr;
  EXPECT_EQ(Error(R"({"command":"x"})"), "{\"error\":\"code is required\"}\n");
}

TEST_F(ExecuteDoorTest, TheLanguageThatTookTheProgramOverIsNamedBesideTheWarnings) {
  exec::Report report;
  report.run.emplace();
  report.fallback_language = "node-typescript";
  executor_.answer = report;
  const std::string body = Execute(R"({"code":"x","langauge":"y"})")->response.body;
  EXPECT_NE(body.find(R"("language":"node-typescript")"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("warnings":[)"), std::string::npos) << body;
  EXPECT_TRUE(std::get<exec::Program>(executor_.requests.at(0).work).may_fall_back);
}

TEST_F(ExecuteDoorTest, TheLogNamesTheLanguageThatTheProgramRanAs) {
  exec::Report report;
  report.run.emplace();
  executor_.answer = report;
  EXPECT_EQ(Execute(R"({"code":"x"})")->note.language, "python");
  report.fallback_language = "node-typescript";
  executor_.answer = report;
  const RunNote note = Execute(R"({"code":"x"})")->note;
  EXPECT_EQ(note.language, "node-typescript");
  EXPECT_EQ(note.outcome, "exited");
}

TEST_F(ExecuteDoorTest, TheListOfLanguagesIsAnsweredAsItIs) {
  options_.language_list = "{\"languages\":[]}\n";
  EXPECT_EQ(Ask(Get("/languages"))->response.body, options_.language_list);
}

TEST_F(ExecuteDoorTest, HealthSaysWhatIs) {
  const Door door = MakeExecuteDoor(executor_, options_, nullptr);
  clock_.Advance(std::chrono::milliseconds(61500));
  EXPECT_EQ(
      Send(door, Get("/health"))->response.body,
      R"({"status":"healthy","mode":"python","runtime_version":"Python 3.12.12","capacity":3,)"
      R"("current_load":2,"uptime_seconds":61,"queued":1,"preinstalled_packages":["numpy","pandas"],)"
      R"("isolation":"full","languages":["node","node-typescript","python"],"reasons":[]})"
      "\n");
  Request head = Get("/health");
  head.method = "HEAD";
  EXPECT_EQ(Send(door, head)->response.status, 200);
}

TEST_F(ExecuteDoorTest, HealthDegradesTruthfully) {
  options_.health = [] { return Health{HealthStatus::kDegraded, {"the cache cannot be written"}}; };
  const auto degraded = Ask(Get("/health"));
  EXPECT_EQ(degraded->response.status, 200);
  EXPECT_TRUE(degraded->response.body.starts_with(R"({"status":"degraded",)"));
  EXPECT_TRUE(
      degraded->response.body.ends_with("\"reasons\":[\"the cache cannot be written\"]}\n"));
  options_.health = [] { return Health{HealthStatus::kUnhealthy, {"shutting down"}}; };
  EXPECT_EQ(Ask(Get("/health"))->response.status, 503);
}

TEST(PackageName, LosesItsVersion) {
  for (const auto& [text, name] : std::vector<std::pair<std::string, std::string>>{
           {"lodash@4.18.1", "lodash"},
           {"@types/node@24.1", "@types/node"},
           {"@types/node", "@types/node"},
           {"csv:3.3.5", "csv"},
           {"numpy==2.1", "numpy"},
           {"pandas>=2,<3", "pandas"},
           {"uvicorn[standard]", "uvicorn"},
           {"golang.org/x/text@v0.34.0", "golang.org/x/text"}}) {
    EXPECT_EQ(PackageName(text), name);
  }
}

}  // namespace
}  // namespace polybox::http
