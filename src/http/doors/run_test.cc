#include "http/doors/run.h"

#include <csignal>

#include <gtest/gtest.h>

#include "http/base64.h"
#include "http/testing/fakes.h"

namespace polybox::http {
namespace {

using testing::FakeExchange;
using testing::FakeExecutor;
using testing::Get;
using testing::Post;
using testing::Send;

std::vector<LanguageFacts> Languages() {
  LanguageFacts bash;
  bash.id = "bash";
  LanguageFacts go;
  go.id = "go";
  go.aliases = {"golang"};
  go.compiled = true;
  go.restricted_files = {"go.mod", "go.sum", "main"};
  LanguageFacts rust;
  rust.id = "rust";
  rust.compiled = true;
  rust.entry_file = "main.rs";
  rust.entry_is_fixed = true;
  return {bash, go, rust};
}

class RunDoorTest : public ::testing::Test {
 protected:
  RunDoorTest() {
    options_.languages = Languages();
    options_.lane = 1;
    options_.metrics = [] { return std::string("polybox_up 1\n"); };
    executor_.answer = exec::Report();
  }

  std::shared_ptr<FakeExchange> RunBody(const std::string& body) {
    return Ask(Post("/v1/run", body));
  }
  std::shared_ptr<FakeExchange> Ask(Request request) {
    return Send(MakeRunDoor(executor_, options_), std::move(request));
  }
  /// Returns the answer to a run of bash with this outcome.
  std::string BodyFor(const exec::StepReport& step) {
    exec::Report report;
    report.run = step;
    executor_.answer = report;
    return RunBody(R"({"runtime":"bash","files":[{"name":"a","content":""}]})")->response.body;
  }

  RunOptions options_;
  FakeExecutor executor_;
};

constexpr const char* kInvalid =
    "{\"code\":\"INVALID_REQUEST_BODY\",\"message\":\"invalid request body\"}\n";

std::string Validation(const std::string& path, const std::string& message) {
  return R"({"code":"VALIDATION_ERROR","message":"request validation failed","errors":[{"path":)" +
         path + R"(,"message":")" + message + "\"}]}\n";
}

TEST_F(RunDoorTest, EveryPathSaysWhichMethodsItHas) {
  for (const char* path : {"/v1/run", "/healthz", "/metrics"}) {
    Request request = Get(path);
    request.method = "OPTIONS";
    const auto exchange = Ask(request);
    EXPECT_EQ(exchange->response.status, 204) << path;
    EXPECT_EQ(exchange->response.body, "") << path;
  }
  // The server makes the Allow header of these methods.
  const Door door = MakeRunDoor(executor_, options_);
  EXPECT_EQ(door.routes[0].method + ", " + door.routes[1].method, "OPTIONS, POST");
}

TEST_F(RunDoorTest, ErrorsAreReportedInTheDialectsOrderAndWords) {
  options_.limits.max_files = 3;
  options_.limits.max_file_size = 4;
  options_.limits.max_stdin_size = 3;
  const std::string one_of = R"(must be one of \"bash\", \"go\", \"rust\")";
  const std::string file = R"({"name":"a","content":""})";
  const auto with = [](const std::string& rest) { return R"({"runtime":"go",)" + rest + "}"; };
  const auto of_file = [&](const std::string& text) { return with(R"("files":[)" + text + "]"); };
  const auto of_stdin = [&](const std::string& text) {
    return with(R"("files":[{"name":"a"}],"stdin":)" + text);
  };
  const std::string name = R"(["files",0,"name"])";
  const std::string content = R"(["files",0,"content"])";
  const std::string input = R"(["stdin","content"])";
  struct Case {
    std::string body;
    std::string path;
    std::string message;
  };
  const std::vector<Case> cases = {
      {"{}", R"(["runtime"])", "required"},
      {"null", R"(["runtime"])", "required"},
      {R"({"runtime":null})", R"(["runtime"])", "required"},
      {R"({"runtime":"go","runtime":null})", R"(["runtime"])", "required"},
      {R"({"runtime":""})", R"(["runtime"])", "must not be empty"},
      {R"({"runtime":"GO"})", R"(["runtime"])", one_of},
      {R"({"runtime":"golang"})", R"(["runtime"])", one_of},
      {R"({"runtime":"go"})", R"(["files"])", "required"},
      {with(R"("files":null)"), R"(["files"])", "required"},
      {with(R"("files":[])"), R"(["files"])", "must not be empty"},
      {of_file("{},{},{},{}"), R"(["files"])", "too many files (max: 3)"},
      {of_stdin("{}"), input, "required"},
      {of_stdin(R"({"content":null})"), input, "required"},
      {of_stdin(R"({"content":"abcd"})"), input, "stdin too large (max: 3 bytes)"},
      {of_stdin(R"({"content":"!!!!","base64_encoded":true})"), input, "invalid base64"},
      {of_stdin(R"({"content":"!!!!!","base64_encoded":true})"), input,
       "stdin too large (max: 3 bytes)"},
      {of_file("{}"), name, "required"},
      {of_file("null"), name, "required"},
      {of_file(R"({"name":null,"content":"x"})"), name, "required"},
      {of_file(R"({"name":""})"), content, "required"},
      {of_file(R"({"name":"","content":null})"), content, "required"},
      {of_file(R"({"name":"","content":""})"), name, "must not be empty"},
      {of_file(R"({"name":"a/b","content":""})"), name, "contains invalid characters"},
      {of_file(R"({"name":"/","content":""})"), name, "contains invalid characters"},
      {of_file(R"({"name":"\u0000a","content":""})"), name, "contains invalid characters"},
      {of_file(R"({"name":"a\u0000b","content":""})"), name, "contains invalid characters"},
      {of_file(R"({"name":".","content":""})"), name, "not allowed"},
      {of_file(R"({"name":"..","content":""})"), name, "not allowed"},
      {of_file(R"({"name":")" + std::string(256, 'x') + R"(","content":""})"), name,
       "file name too long (max: 255 bytes)"},
      {of_file(R"({"name":"go.mod","content":"!","base64_encoded":true})"), name,
       "not allowed for this runtime"},
      {of_file(R"({"name":"a","content":"!","base64_encoded":true})"), content, "invalid base64"},
      {of_file(R"({"name":"a","content":"abcde"})"), content, "file too large (max: 4 bytes)"},
      {of_file(R"({"name":"a","content":"YWJjZGU=","base64_encoded":true})"), content,
       "file too large (max: 4 bytes)"},
      {of_file(file + "," + R"({"name":"b"})"), R"(["files",1,"content"])", "required"},
  };
  for (const Case& c : cases) {
    const auto exchange = RunBody(c.body);
    EXPECT_EQ(exchange->response.status, 400) << c.body;
    EXPECT_EQ(exchange->response.body, Validation(c.path, c.message)) << c.body;
  }
  EXPECT_TRUE(executor_.requests.empty());
}

TEST_F(RunDoorTest, JsonOfAnotherShapeIsAnInvalidBody) {
  for (const char* body :
       {"{", "x", "[]", "5", R"({"runtime":1})", R"({"runtime":"go","files":{}})",
        R"({"files":[1]})", R"({"files":[{"name":1}]})", R"({"stdin":"x"})",
        R"({"files":[{"base64_encoded":"yes"}]})", R"({"stdin":{"content":[]}})"}) {
    const auto exchange = RunBody(body);
    EXPECT_EQ(exchange->response.status, 400) << body;
    EXPECT_EQ(exchange->response.body, kInvalid) << body;
  }
}

TEST_F(RunDoorTest, TheContentTypeDecidesWhatIsBound) {
  const std::string body = R"({"runtime":"bash","files":[{"name":"a","content":""}]})";
  const std::string nothing = Validation(R"(["runtime"])", "required");
  struct Case {
    std::string type;
    std::string body;
    int status;
    std::string answer;
  };
  const std::vector<Case> cases = {
      {"application/json", body, 200, ""},
      {"application/json; charset=utf-8", body, 200, ""},
      {"", body, 400, kInvalid},
      {"text/plain", body, 400, kInvalid},
      {"application/xml", "<a/>", 400, kInvalid},
      {"application/x-www-form-urlencoded", "runtime=go", 400, nothing},
      {"multipart/form-data; boundary=x", "--x--", 400, nothing},
      {"text/plain", "", 400, nothing},
      {"application/json", "", 400, nothing},
  };
  for (const Case& c : cases) {
    Request request = Post("/v1/run", c.body);
    request.headers = {{"content-type", c.type}};
    const auto exchange = Ask(request);
    EXPECT_EQ(exchange->response.status, c.status) << c.type;
    if (c.status != 200) {
      EXPECT_EQ(exchange->response.body, c.answer) << c.type;
    }
  }
  Request chunked = Post("/v1/run", "");
  chunked.has_content_length = false;
  chunked.headers.emplace_back("Transfer-Encoding", "chunked");
  EXPECT_EQ(Ask(chunked)->response.body, kInvalid);
}

TEST_F(RunDoorTest, AnAllowedRequestReachesTheEngine) {
  options_.limits.max_stdin_size = 3;
  const std::string longest(255, 'x');
  RunBody(R"({"Runtime":"bash","FILES":[{"name":" -...\\\n","content":"one"},{"name":")" + longest +
          R"(","content":"AP8=","base64_encoded":true}],)"
          R"("stdin":{"content":"YWJj","base64_encoded":true},"x":1} more)");
  ASSERT_EQ(executor_.requests.size(), 1U);
  const exec::Request& request = executor_.requests[0];
  const auto& program = std::get<exec::Program>(request.work);
  EXPECT_EQ(program.language, "bash");
  EXPECT_EQ(request.client, "192.0.2.1");
  EXPECT_EQ(request.lane, 1U);
  ASSERT_EQ(program.files.size(), 2U);
  EXPECT_EQ(program.files[0].name, " -...\\\n");
  EXPECT_EQ(program.files[0].content, "one");
  EXPECT_EQ(program.files[1].name, longest);
  EXPECT_EQ(program.files[1].content, std::string("\0\xff", 2));
  EXPECT_EQ(request.input, "abc");
  EXPECT_EQ(request.run.wall_time, std::chrono::seconds(30));
  EXPECT_EQ(request.run.cpu_time, std::chrono::seconds(30));
  EXPECT_EQ(program.compile.wall_time, std::chrono::seconds(30));
  EXPECT_EQ(request.run.output, Bytes::MiB(1));
  EXPECT_EQ(program.compile.output, Bytes::MiB(1));
  EXPECT_EQ(request.output_rule, exec::OutputRule::kEndRun);
  EXPECT_TRUE(request.wants_combined);
  EXPECT_TRUE(request.one_cpu);
}

TEST_F(RunDoorTest, StdinThatIsNullIsNone) {
  for (const char* input : {"null", R"({"content":""})"}) {
    RunBody(std::string(R"({"runtime":"bash","files":[{"name":"a","content":""}],"stdin":)") +
            input + "}");
    EXPECT_EQ(executor_.requests.back().input, "");
  }
  EXPECT_EQ(executor_.requests.size(), 2U);
}

TEST_F(RunDoorTest, OfTwoFilesOfOneNameTheLaterIsWritten) {
  RunBody(
      R"({"runtime":"bash","files":[{"name":"a","content":"1"},{"name":"b","content":"2"},{"name":"a","content":"3"}]})");
  const auto& files = std::get<exec::Program>(executor_.requests.at(0).work).files;
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].name + files[0].content, "a3");
  EXPECT_EQ(files[1].name + files[1].content, "b2");
}

TEST_F(RunDoorTest, TheFileOfTheFixedNameIsTheEntryWhereverItStands) {
  RunBody(
      R"({"runtime":"rust","files":[{"name":"lib.rs","content":"1"},{"name":"main.rs","content":"2"}]})");
  const auto& files = std::get<exec::Program>(executor_.requests.at(0).work).files;
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].name, "main.rs");
  EXPECT_EQ(files[1].name, "lib.rs");
}

exec::StepReport Step(jail::End end, int exit_code, int signal) {
  exec::StepReport step;
  step.outcome.end = end;
  step.outcome.exit_code = exit_code;
  step.outcome.signal = signal;
  step.outcome.wall = std::chrono::microseconds(12900);
  step.out = "out";
  step.err = "err";
  step.combined = "outerr";
  return step;
}

TEST_F(RunDoorTest, EveryEndHasItsStatusCodeAndSignal) {
  using jail::End;
  struct Case {
    End end;
    int exit_code;
    int signal;
    std::string wire;
  };
  const std::vector<Case> cases = {
      {End::kExited, 0, 0, R"("exit_code":0,"status":"OK","signal":null)"},
      {End::kExited, 137, 0, R"("exit_code":137,"status":"OK","signal":null)"},
      {End::kSignalled, 0, SIGSEGV, R"("exit_code":139,"status":"SIGNAL","signal":"SIGSEGV")"},
      {End::kSignalled, 0, SIGSYS, R"("exit_code":159,"status":"SIGNAL","signal":"SIGSYS")"},
      {End::kTimedOut, 0, SIGKILL, R"("exit_code":137,"status":"TIMEOUT","signal":"SIGKILL")"},
      {End::kTimedOut, 0, 0, R"("exit_code":137,"status":"TIMEOUT","signal":"SIGKILL")"},
      {End::kCpuLimit, 0, SIGXCPU, R"("exit_code":152,"status":"SIGNAL","signal":"SIGXCPU")"},
      {End::kOutOfMemory, 0, SIGKILL, R"("exit_code":137,"status":"SIGNAL","signal":"SIGKILL")"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(BodyFor(Step(c.end, c.exit_code, c.signal)),
              R"({"compile":null,"run":{"stdout":"b3V0","stderr":"ZXJy","output":"b3V0ZXJy",)" +
                  c.wire + R"(,"duration_ms":12}})" + "\n");
  }
}

TEST_F(RunDoorTest, TooMuchOutputIsThrownAway) {
  EXPECT_EQ(BodyFor(Step(jail::End::kOutputLimit, 0, SIGKILL)),
            R"({"compile":null,"run":{"stdout":"","stderr":"","output":"","exit_code":137,)"
            R"("status":"OUTPUT_LIMIT_EXCEEDED","signal":null,"duration_ms":12}})"
            "\n");
}

TEST_F(RunDoorTest, AProgramThatCannotStartSaysWhy) {
  exec::StepReport step = Step(jail::End::kSetupFailed, 0, 0);
  step.outcome.setup_failure = "no";
  const std::string text = EncodeBase64("failed to start: no\n");
  EXPECT_EQ(BodyFor(step),
            R"({"compile":null,"run":{"stdout":"b3V0","stderr":")" + text + R"(","output":")" +
                text + R"(","exit_code":255,"status":"OK","signal":null,"duration_ms":12}})" +
                "\n");
}

TEST_F(RunDoorTest, ACompilerThatFailsLeavesNothingToRun) {
  exec::Report report;
  report.compile = Step(jail::End::kExited, 1, 0);
  executor_.answer = report;
  const std::string body = R"({"runtime":"go","files":[{"name":"a","content":""}]})";
  EXPECT_EQ(RunBody(body)->response.body,
            R"({"compile":{"stdout":"b3V0","stderr":"ZXJy","output":"b3V0ZXJy","exit_code":1,)"
            R"("status":"OK","signal":null,"duration_ms":12},"run":null})"
            "\n");
  report.compile.reset();
  report.run = Step(jail::End::kExited, 3, 0);
  executor_.answer = report;
  EXPECT_TRUE(RunBody(body)->response.body.starts_with(
      R"({"compile":{"stdout":"","stderr":"","output":"","exit_code":0,"status":"OK","signal":null,"duration_ms":0},"run":{)"));
}

TEST_F(RunDoorTest, AResultSaysItsIsolationInAHeader) {
  exec::Report report;
  report.run = Step(jail::End::kExited, 0, 0);
  report.isolation = jail::Grade::kFull;
  executor_.answer = report;
  const auto exchange = RunBody(R"({"runtime":"bash","files":[{"name":"a","content":""}]})");
  EXPECT_EQ(exchange->Header("X-Polybox-Isolation"), "full");
  EXPECT_EQ(exchange->response.content_type, "application/json");
}

TEST_F(RunDoorTest, RefusalsAreInTheDialectsShape) {
  using exec::RefusalKind;
  const std::string busy =
      "{\"code\":\"SERVER_BUSY\",\"message\":\"server is busy, please retry later\"}\n";
  const std::string internal =
      "{\"code\":\"INTERNAL_ERROR\",\"message\":\"internal server error\"}\n";
  struct Case {
    RefusalKind kind;
    int status;
    std::string body;
    std::string retry;
  };
  const std::vector<Case> cases = {
      {RefusalKind::kBusy, 503, busy, "2"},
      {RefusalKind::kQueueTimeout, 503, busy, "2"},
      {RefusalKind::kDraining, 503, busy, "2"},
      {RefusalKind::kCancelled, 500, internal, ""},
      {RefusalKind::kFailed, 500, internal, ""},
      {RefusalKind::kInvalid, 400, Validation(R"(["files"])", "why"), ""},
      {RefusalKind::kUnavailable, 400, Validation(R"(["runtime"])", "why"), ""},
  };
  for (const Case& c : cases) {
    executor_.answer = exec::Refusal{c.kind, "why", std::chrono::milliseconds(1200), 0};
    const auto exchange = RunBody(R"({"runtime":"bash","files":[{"name":"a","content":""}]})");
    EXPECT_EQ(exchange->response.status, c.status);
    EXPECT_EQ(exchange->response.body, c.body);
    EXPECT_EQ(exchange->Header("Retry-After"), c.retry);
  }
}

TEST_F(RunDoorTest, EveryErrorNamesUnknownMembersAsWell) {
  const std::string named =
      R"("warnings":["unknown member \"runtim\"; did you mean \"runtime\"?"])";
  const auto expect_named = [&](const std::string& body) {
    const std::string answer = RunBody(body)->response.body;
    EXPECT_NE(answer.find(named), std::string::npos) << body << answer;
  };
  expect_named(R"({"runtim":"bash"})");
  expect_named(R"({"runtime":1,"runtim":"bash"})");
  expect_named(R"({"runtim":"bash","files":{}})");
  for (const auto kind : {exec::RefusalKind::kInvalid, exec::RefusalKind::kUnavailable,
                          exec::RefusalKind::kBusy, exec::RefusalKind::kFailed}) {
    executor_.answer = exec::Refusal{kind, "why", Duration(), 0};
    expect_named(R"({"runtime":"bash","runtim":1,"files":[{"name":"a","content":""}]})");
  }
}

TEST_F(RunDoorTest, FaultsAreInTheDialectsShape) {
  const Door door = MakeRunDoor(executor_, options_);
  EXPECT_EQ(door.fault_prefixes, std::vector<std::string>{"/v1/"});
  const auto says = [&](Fault fault, int status, const std::string& body) {
    const Response response = door.refuse(fault, Request());
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(response.body, body + "\n");
  };
  says(Fault::kNotFound, 404,
       R"({"code":"NOT_FOUND","message":"the requested resource was not found"})");
  says(
      Fault::kMethodNotAllowed, 405,
      R"({"code":"METHOD_NOT_ALLOWED","message":"the request method is not allowed for this resource"})");
  says(Fault::kBodyTooLarge, 413,
       R"({"code":"REQUEST_BODY_TOO_LARGE","message":"request body too large"})");
  says(Fault::kOverloaded, 503,
       R"({"code":"SERVER_BUSY","message":"server is busy, please retry later"})");
  says(Fault::kInternal, 500, R"({"code":"INTERNAL_ERROR","message":"internal server error"})");
  says(Fault::kUnauthorized, 401,
       R"({"code":"UNAUTHORIZED","message":"a valid token is required"})");
}

TEST_F(RunDoorTest, AClientThatGoesAwayEndsItsRun) {
  executor_.answer.reset();
  const auto exchange = RunBody(R"({"runtime":"bash","files":[{"name":"a","content":""}]})");
  EXPECT_EQ(exchange->answers, 0);
  exchange->disconnect();
  EXPECT_EQ(executor_.cancelled, 1);
  executor_.waiting(exec::Refusal{exec::RefusalKind::kCancelled, "", {}, 0});
  EXPECT_EQ(exchange->answers, 1);
}

TEST_F(RunDoorTest, HealthAndMetricsHaveRoutes) {
  EXPECT_EQ(Ask(Get("/healthz"))->response.body, "{\"status\":\"ok\"}\n");
  const auto metrics = Ask(Get("/metrics"));
  EXPECT_EQ(metrics->response.body, "polybox_up 1\n");
  EXPECT_EQ(metrics->response.content_type, "text/plain; version=0.0.4; charset=utf-8");
  options_.metrics = nullptr;
  EXPECT_EQ(Ask(Get("/metrics"))->response.status, 0);
}

}  // namespace
}  // namespace polybox::http
