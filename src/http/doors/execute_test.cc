#include "http/doors/execute.h"

#include <csignal>

#include <gtest/gtest.h>

#include "http/testing/fakes.h"

namespace polybox::http {
namespace {

using jail::End;
using testing::FakeExchange;
using testing::FakeExecutor;
using testing::Get;
using testing::Post;
using testing::Send;

LanguageFacts Python() {
  LanguageFacts facts;
  facts.id = "python";
  facts.name = "Python";
  facts.aliases = {"py"};
  facts.extensions = {".py"};
  facts.binaries = {"python3"};
  facts.version = "Python 3.12.12";
  facts.entry_file = "script.py";
  facts.run_limits.memory = Bytes::MiB(256);
  facts.run_limits.processes = 32;
  facts.run_limits.disk = Bytes::MiB(64);
  facts.run_limits.output = Bytes(20);
  facts.packages = {"numpy", "pandas"};
  return facts;
}

std::vector<LanguageFacts> Languages() {
  LanguageFacts node;
  node.id = "node";
  node.extensions = {".js"};
  node.binaries = {"node"};
  node.entry_file = "script.js";
  LanguageFacts typescript = node;
  typescript.id = "node-typescript";
  typescript.aliases = {"typescript", "ts"};
  typescript.extensions = {".ts", ".tsx"};
  typescript.entry_file = "main.ts";
  typescript.compiled = true;
  return {node, typescript, Python()};
}

class ExecuteDoorTest : public ::testing::Test {
 protected:
  ExecuteDoorTest() {
    options_.languages = Languages();
    options_.mode = options_.language = "python";
    options_.lane = 2;
    options_.capacity = 3;
    options_.isolation = jail::Grade::kFull;
    options_.clock = &clock_;
    executor_.answer = exec::Report();
    executor_.load = {2, 1};
  }

  std::shared_ptr<FakeExchange> Ask(Request request) {
    return Send(MakeExecuteDoor(executor_, options_, commands_), std::move(request));
  }
  std::shared_ptr<FakeExchange> Execute(const std::string& body) {
    return Ask(Post("/execute", body));
  }
  /// What reaches the engine.
  const exec::Request& Submitted(const std::string& body) {
    const auto exchange = Execute(body);
    EXPECT_EQ(exchange->response.status, 200) << body << exchange->response.body;
    return executor_.requests.back();
  }
  std::string Error(const std::string& body) {
    const auto exchange = Execute(body);
    EXPECT_EQ(exchange->response.status, 400) << body;
    return exchange->response.body;
  }
  std::string BodyFor(const exec::Report& report) {
    executor_.answer = report;
    return Execute(R"({"code":"x","timeout_seconds":5})")->response.body;
  }

  FakeClock clock_;
  ExecuteOptions options_;
  CommandHandler commands_;
  FakeExecutor executor_;
};

TEST_F(ExecuteDoorTest, DefaultsAreThoseOfTheContract) {
  const exec::Request& request = Submitted(R"({"code":"print 1"})");
  EXPECT_EQ(request.language, "python");
  EXPECT_EQ(request.client, "192.0.2.1");
  EXPECT_EQ(request.lane, 2U);
  ASSERT_EQ(request.files.size(), 1U);
  EXPECT_EQ(request.files[0].name, "script.py");
  EXPECT_EQ(request.files[0].content, "print 1");
  EXPECT_EQ(request.run.wall_time, std::chrono::seconds(30));
  EXPECT_EQ(request.run.cpu_time, std::chrono::seconds(30));
  EXPECT_EQ(request.install_time, std::chrono::seconds(30));
  EXPECT_FALSE(request.run.memory.has_value());
  EXPECT_EQ(request.output_directory, "output");
  EXPECT_EQ(request.output_rule, exec::OutputRule::kTruncate);
  EXPECT_FALSE(request.one_cpu);
  EXPECT_FALSE(request.wants_combined);
  EXPECT_FALSE(request.patience.has_value());
  EXPECT_EQ(request.input, "");
}

TEST_F(ExecuteDoorTest, TheTimeoutHasADefaultAndAnUpperBound) {
  const std::vector<std::pair<std::string, int>> cases = {
      {"0", 30},
      {"-5", 30},
      {"null", 30},
      {"1", 1},
      {"300", 300},
      {"301", 300},
      {"9223372036854775807", 300},
  };
  for (const auto& [text, seconds] : cases) {
    EXPECT_EQ(Submitted(R"({"code":"x","timeout_seconds":)" + text + "}").run.wall_time,
              std::chrono::seconds(seconds))
        << text;
  }
  EXPECT_NE(Execute(R"({"code":"x","timeout_seconds":999})")
                ->response.body.find("\"timeout_seconds\":300"),
            std::string::npos);
}

TEST_F(ExecuteDoorTest, BodiesThatCannotBeReadAreRefusedInTheOldWords) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "invalid request: EOF"},
      {"{", "invalid request: unexpected EOF"},
      {"nope", "invalid request: invalid character 'o' in literal null (expecting 'u')"},
      {"[]",
       "invalid request: json: cannot unmarshal array into Go value of type main.executeRequest"},
      {R"({"code":1})",
       "invalid request: json: cannot unmarshal number into Go struct field executeRequest.code of "
       "type string"},
      {R"({"code":"x","timeout_seconds":1.5})",
       "invalid request: json: cannot unmarshal number 1.5 into Go struct field "
       "executeRequest.timeout_seconds of type int"},
      {R"({"code":"x","requirements":"a"})",
       "invalid request: json: cannot unmarshal string into Go struct field "
       "executeRequest.requirements of type []string"},
      {R"({"code":"x","files":[]})",
       "invalid request: json: cannot unmarshal array into Go struct field executeRequest.files of "
       "type map[string]string"},
      {"{}", "code is required"},
      {"null", "code is required"},
      {R"({"code":""})", "code is required"},
      {R"({"code":null})", "code is required"},
  };
  for (const auto& [body, text] : cases) EXPECT_EQ(Error(body), "{\"error\":\"" + text + "\"}\n");
  EXPECT_TRUE(executor_.requests.empty());
}

TEST_F(ExecuteDoorTest, KeysAreReadInAnyCaseAndWhatFollowsIsIgnored) {
  const exec::Request& request =
      Submitted("{\"CODE\":\"a\xff\",\"Unknown\":[{}],\"Stdin\":\"in\"} }}} trailing");
  EXPECT_EQ(request.files[0].content, "a\ufffd");
  EXPECT_EQ(request.input, "in");
}

TEST_F(ExecuteDoorTest, FilesKeepTheirDirectories) {
  const exec::Request& request = Submitted(
      R"({"code":"x","files":{"b/c.txt":"aGk=","./d//e":"","a b":"Zg\n==\r\n",".hidden":"","script.py":"eHg="}})");
  std::vector<std::string> files;
  for (const jail::InputFile& file : request.files) files.push_back(file.name + "=" + file.content);
  EXPECT_EQ(files,
            (std::vector<std::string>{"script.py=x", "d/e=", ".hidden=", "a b=f", "b/c.txt=hi"}));
}

TEST_F(ExecuteDoorTest, FilesThatCannotBeAreRefused) {
  const auto files = [](const std::string& text) {
    return R"({"code":"x","files":{)" + text + "}}";
  };
  const std::string long_name(256, 'x');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {files(R"("a":"!")"), R"(failed to decode file \"a\": illegal base64 data at input byte 0)"},
      {files(R"("a":"Zg")"), R"(failed to decode file \"a\": illegal base64 data at input byte 0)"},
      {files(R"("a":"Zm9v!")"),
       R"(failed to decode file \"a\": illegal base64 data at input byte 4)"},
      {files(R"("":"")"), R"(invalid file name \"\": it is empty)"},
      {files(R"("/etc/x":"")"), R"(invalid file name \"/etc/x\": it is absolute)"},
      {files(R"("..":"")"), R"(invalid file name \"..\": \"..\" is not allowed)"},
      {files(R"("a/../b":"")"), R"(invalid file name \"a/../b\": \"..\" is not allowed)"},
      {files(R"("a/":"")"), R"(invalid file name \"a/\": it is a directory)"},
      {files(R"(".":"")"), R"(invalid file name \".\": it is a directory)"},
      {files(R"("a\u0000":"")"), R"(invalid file name \"a\\u0000\": it holds a zero byte)"},
      {files(R"("output":"")"), R"(invalid file name \"output\": it is the output directory)"},
      {files(R"("a":"","./a":"")"), R"(invalid file name \"a\": given twice)"},
      {files(R"("a":"","a.b":"","a/b":"")"), R"(invalid file name \"a/b\": \"a\" is a file)"},
      {files(R"("script.py/x":"")"),
       R"(invalid file name \"script.py/x\": \"script.py\" is a file)"},
      {files("\"" + long_name + "\":\"\""),
       "invalid file name \\\"" + long_name + "\\\": a part of it is longer than 255 bytes"},
  };
  for (const auto& [body, text] : cases) EXPECT_EQ(Error(body), "{\"error\":\"" + text + "\"}\n");
}

TEST_F(ExecuteDoorTest, AnyAvailableLanguageMayBeNamed) {
  EXPECT_EQ(Submitted(R"({"code":"x","language":"TypeScript"})").language, "node-typescript");
  EXPECT_EQ(executor_.requests.back().files[0].name, "main.ts");
  EXPECT_EQ(Submitted(R"({"code":"x","language":"py"})").language, "python");
  EXPECT_EQ(
      Error(R"({"code":"x","language":"nodee"})"),
      R"({"error":"unsupported language \"nodee\" (available: node, node-typescript, python); did you mean \"node\"?"})"
      "\n");
}

TEST_F(ExecuteDoorTest, AKnownLanguageThatDoesNotRunHereSaysWhatIsMissing) {
  options_.why_not = [](std::string_view) { return "\"rustc\" not found on PATH; install it"; };
  EXPECT_EQ(
      Error(R"({"code":"x","language":"rs"})"),
      R"json({"error":"unsupported language \"rs\": \"rustc\" not found on PATH; install it )json"
      R"json((available: node, node-typescript, python)"})json"
      "\n");
}

TEST_F(ExecuteDoorTest, TypeScriptFilesMakeNodeModeRunTypeScript) {
  options_.mode = options_.language = "node";
  EXPECT_EQ(Submitted(R"({"code":"x","files":{"lib/a.ts":""}})").language, "node-typescript");
  EXPECT_EQ(Submitted(R"({"code":"x","files":{"a.js":""}})").language, "node");
  EXPECT_EQ(Submitted(R"({"code":"x","language":"node","files":{"a.ts":""}})").language, "node");
  options_.mode = options_.language = "python";
  EXPECT_EQ(Submitted(R"({"code":"x","files":{"a.ts":""}})").language, "python");
}

TEST_F(ExecuteDoorTest, InputArgumentsAndVariablesArePassedOn) {
  const exec::Request& request = Submitted(
      R"({"code":"x","stdin":"in\n","args":["-a","b c",""],"env":{"A_1":"x=y","_b":""},"requirements":["six"]})");
  EXPECT_EQ(request.input, "in\n");
  EXPECT_EQ(request.args, (std::vector<std::string>{"-a", "b c", ""}));
  EXPECT_EQ(request.env, (std::map<std::string, std::string>{{"A_1", "x=y"}, {"_b", ""}}));
  EXPECT_EQ(request.requirements, std::vector<std::string>{"six"});
}

TEST_F(ExecuteDoorTest, ArgumentsAndVariablesThatCannotBeAreRefused) {
  const std::string rule = "letters, digits and _ are allowed, no digit first";
  const std::string large(131072, 'x');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("args":["a","\u0000"])", "invalid args[1]: it holds a zero byte"},
      {R"("args":[")" + large + "\"]", "invalid args[0]: longer than 131071 bytes"},
      {R"("env":{"":"x"})", R"(invalid env name \"\": )" + rule},
      {R"("env":{"1A":"x"})", R"(invalid env name \"1A\": )" + rule},
      {R"("env":{"A=B":"x"})", R"(invalid env name \"A=B\": )" + rule},
      {R"("env":{"OUTPUT_DIR":"x"})", R"(invalid env name \"OUTPUT_DIR\": the server sets it)"},
      {R"("env":{"A":"\u0000"})", "invalid env value of A: it holds a zero byte"},
      {R"("env":{"A":")" + large + "\"}", "invalid env value of A: longer than 131069 bytes"},
  };
  for (const auto& [members, text] : cases) {
    EXPECT_EQ(Error(R"({"code":"x",)" + members + "}"), "{\"error\":\"" + text + "\"}\n");
  }
  std::string many = "\"\"";
  for (int i = 0; i < 1000; ++i) many += ",\"\"";
  EXPECT_EQ(Error(R"({"code":"x","args":[)" + many + "]}"),
            "{\"error\":\"invalid request: too many args (max: 1000)\"}\n");
  std::string heavy = "\"" + large.substr(0, 16383) + "\"";
  for (int i = 0; i < 3; ++i) heavy += "," + heavy;
  EXPECT_EQ(Error(R"({"code":"x","args":[)" + heavy + R"(],"env":{"A":"b"}})"),
            "{\"error\":\"args and env are 131076 bytes together: 131072 are allowed\"}\n");
}

TEST_F(ExecuteDoorTest, LimitsMayBeLowered) {
  const exec::Request& request = Submitted(
      R"({"code":"x","timeout_seconds":2,"limits":{"wall_time_ms":500,"cpu_time_ms":400,"Memory_Bytes":1048576,"processes":4,"disk_bytes":4096,"output_bytes":10}})");
  EXPECT_EQ(request.run.wall_time, std::chrono::milliseconds(500));
  EXPECT_EQ(request.run.cpu_time, std::chrono::milliseconds(400));
  EXPECT_EQ(request.run.memory, Bytes::MiB(1));
  EXPECT_EQ(request.run.processes, 4);
  EXPECT_EQ(request.run.disk, Bytes(4096));
  EXPECT_EQ(request.run.output, Bytes(10));
  // The shorter of the two times holds.
  EXPECT_EQ(
      Submitted(R"({"code":"x","timeout_seconds":2,"limits":{"wall_time_ms":5000}})").run.wall_time,
      std::chrono::seconds(2));
}

TEST_F(ExecuteDoorTest, LimitsCannotBeRaised) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("memory_bytes":268435457)",
       "limits.memory_bytes is 268435457: from 1 to 268435456 is allowed for Python"},
      {R"("processes":33)", "limits.processes is 33: from 1 to 32 is allowed for Python"},
      {R"("processes":0)", "limits.processes is 0: from 1 to 32 is allowed for Python"},
      {R"("disk_bytes":-1)", "limits.disk_bytes is -1: from 1 to 67108864 is allowed for Python"},
      {R"("output_bytes":21)", "limits.output_bytes is 21: from 1 to 20 is allowed for Python"},
      {R"("wall_time_ms":300001)",
       "limits.wall_time_ms is 300001: from 1 to 300000 is allowed for Python"},
      {R"("memory":1)",
       R"(unknown limit \"memory\" (known: wall_time_ms, cpu_time_ms, memory_bytes, processes, disk_bytes, output_bytes))"},
  };
  for (const auto& [limit, text] : cases) {
    EXPECT_EQ(Error(R"({"code":"x","limits":{)" + limit + "}}"), "{\"error\":\"" + text + "\"}\n");
  }
}

TEST_F(ExecuteDoorTest, TheRoutersPatienceIsOurs) {
  for (const auto& [text, patience] : std::vector<std::pair<std::string, std::optional<Duration>>>{
           {"1.5", std::chrono::milliseconds(1500)},
           {"nan", {}},
           {"-1", {}},
           {"x", {}},
           {"1e9", {}},
           {"5s", {}}}) {
    Request request = Post("/execute", R"({"code":"x"})");
    request.headers.emplace_back("X-Sandbox-Timeout", text);
    Ask(request);
    EXPECT_EQ(executor_.requests.back().patience, patience) << text;
  }
}

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

/// The additive members as they are when nothing is known.
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
