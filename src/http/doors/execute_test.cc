#include "http/doors/execute.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "http/doors/execute_body.h"
#include "http/doors/testing/execute_door.h"
#include "limits/table.h"

namespace polybox::http {
namespace {

using testing::ExecuteDoorTest;
using testing::Get;
using testing::Post;
using testing::Python;

TEST_F(ExecuteDoorTest, DefaultsAreThoseOfTheContract) {
  const exec::Request& request = Submitted(R"({"code":"print 1"})");
  const auto& program = std::get<exec::Program>(request.work);
  EXPECT_EQ(program.language, "python");
  EXPECT_EQ(request.client, "192.0.2.1");
  EXPECT_EQ(request.lane, 2U);
  ASSERT_EQ(program.files.size(), 1U);
  EXPECT_EQ(program.files[0].name, "script.py");
  EXPECT_EQ(program.files[0].content, "print 1");
  EXPECT_EQ(request.run.wall_time, std::chrono::seconds(30));
  EXPECT_EQ(request.run.cpu_time, std::chrono::seconds(30));
  EXPECT_EQ(program.install_time, std::chrono::seconds(30));
  EXPECT_FALSE(request.run.memory.has_value());
  EXPECT_EQ(program.output_directory, "output");
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
  EXPECT_EQ(std::get<exec::Program>(request.work).files[0].content, "a\ufffd");
  EXPECT_EQ(request.input, "in");
}

TEST_F(ExecuteDoorTest, FilesKeepTheirDirectories) {
  const exec::Program& program = SubmittedProgram(
      R"({"code":"x","files":{"b/c.txt":"aGk=","./d//e":"","a b":"Zg\n==\r\n",".hidden":"","script.py":"eHg="}})");
  std::vector<std::string> files;
  for (const jail::InputFile& file : program.files) files.push_back(file.name + "=" + file.content);
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
  EXPECT_EQ(SubmittedProgram(R"({"code":"x","language":"TypeScript"})").language,
            "node-typescript");
  EXPECT_EQ(std::get<exec::Program>(executor_.requests.back().work).files[0].name, "main.ts");
  EXPECT_EQ(SubmittedProgram(R"({"code":"x","language":"py"})").language, "python");
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
  EXPECT_EQ(SubmittedProgram(R"({"code":"x","files":{"lib/a.ts":""}})").language,
            "node-typescript");
  EXPECT_EQ(SubmittedProgram(R"({"code":"x","files":{"a.js":""}})").language, "node");
  EXPECT_EQ(SubmittedProgram(R"({"code":"x","language":"node","files":{"a.ts":""}})").language,
            "node");
  options_.mode = options_.language = "python";
  EXPECT_EQ(SubmittedProgram(R"({"code":"x","files":{"a.ts":""}})").language, "python");
}

TEST_F(ExecuteDoorTest, InputArgumentsAndVariablesArePassedOn) {
  const exec::Request& request = Submitted(
      R"({"code":"x","stdin":"in\n","args":["-a","b c",""],"env":{"A_1":"x=y","_b":""},"requirements":["six"]})");
  EXPECT_EQ(request.input, "in\n");
  const auto& program = std::get<exec::Program>(request.work);
  EXPECT_EQ(program.args, (std::vector<std::string>{"-a", "b c", ""}));
  EXPECT_EQ(program.env, (std::map<std::string, std::string>{{"A_1", "x=y"}, {"_b", ""}}));
  EXPECT_EQ(program.requirements, std::vector<std::string>{"six"});
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
  // The shorter of the two timeouts applies.
  EXPECT_EQ(
      Submitted(R"({"code":"x","timeout_seconds":2,"limits":{"wall_time_ms":5000}})").run.wall_time,
      std::chrono::seconds(2));
}

TEST_F(ExecuteDoorTest, EachLimitThatARequestMayChangeHasItsNameInGetLanguages) {
  for (const limits::Limit& limit : limits::kLimits) {
    const std::string limits = fmt::format(R"({{"{}":1}})", limit.listed.name);
    const std::string body = R"({"code":"x","limits":)" + limits + "}";
    if (!limit.Changes()) {
      EXPECT_NE(Error(body).find("unknown limit"), std::string::npos) << limits;
      continue;
    }
    languages::Limits changed;
    limits::Apply(Submitted(body).run, changed);
    EXPECT_EQ(limits::NumberOf(limit, changed), 1) << limits;
  }
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

}  // namespace
}  // namespace polybox::http
