// The door of POST /execute with a fake engine, whose answers the test chooses.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "http/doors/execute.h"
#include "http/testing/fakes.h"

namespace polybox::http::testing {

inline LanguageFacts Python() {
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

inline std::vector<LanguageFacts> Languages() {
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
  /// Returns the request that the engine gets.
  const exec::Request& Submitted(const std::string& body) {
    const auto exchange = Execute(body);
    EXPECT_EQ(exchange->response.status, 200) << body << exchange->response.body;
    return executor_.requests.back();
  }
  /// Returns the program of that request.
  const exec::Program& SubmittedProgram(const std::string& body) {
    return std::get<exec::Program>(Submitted(body).work);
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

}  // namespace polybox::http::testing
