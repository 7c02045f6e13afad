#include "http/doors/code_runner.h"

#include "http/doors/testing/execute_door.h"

namespace polybox::http {
namespace {

class ExecuteRunnerTest : public testing::ExecuteDoorTest {
 protected:
  Result<std::string> Run(const std::string& body) {
    return ExecuteRunner(executor_, options_)
        .Run(body, {.principal = "agent", .stop = {}, .on_stage = {}});
  }
};

TEST_F(ExecuteRunnerTest, TheAnswerIsThatOfTheRoute) {
  const std::string body = R"({"code": "x", "language": "python", "args": ["a"]})";
  const Result<std::string> answer = Run(body);
  ASSERT_TRUE(answer.ok()) << answer.error().message();
  EXPECT_EQ(*answer + "\n", Execute(body)->response.body);
  ASSERT_EQ(executor_.requests.size(), 2U);
  EXPECT_EQ(executor_.requests[0].client, "agent");
  EXPECT_EQ(std::get<exec::Program>(executor_.requests[0].work).args,
            std::get<exec::Program>(executor_.requests[1].work).args);
}

TEST_F(ExecuteRunnerTest, AWrongRequestHasTheMessageOfTheRoute) {
  for (const char* body : {R"({"code": ""})", R"({"code": "x", "language": "cobol"})",
                           R"({"code": "x", "files": {"../x": ""}})", R"({"code": 1})"}) {
    const Result<std::string> answer = Run(body);
    ASSERT_FALSE(answer.ok()) << body;
    EXPECT_NE(Error(body).find(answer.error().message().substr(0, 17)), std::string::npos) << body;
  }
}

TEST_F(ExecuteRunnerTest, ABusyServerSaysSo) {
  executor_.answer = exec::Refusal{.kind = exec::RefusalKind::kBusy, .message = {}};
  const Result<std::string> answer = Run(R"({"code": "x"})");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message(), "the server runs as many programs as it may");
}

}  // namespace
}  // namespace polybox::http
