// Tools for tests and fuzzers: one for each thing that a tool can do. Not part of the program.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tools/registry.h"
#include "tools/tool.h"

namespace polybox::tools::testing {

struct EchoArguments {
  std::string text;
  std::int64_t times = 1;
  static constexpr auto Members() {
    return std::tuple(json::Required("text", &EchoArguments::text, "Text to repeat").NotEmpty(),
                      json::Optional("times", &EchoArguments::times, "How often").Min(1).Max(1000));
  }
};

struct EchoResult {
  std::string text = {};
  std::string workspace = {};
  std::string principal = {};
  static constexpr auto Members() {
    return std::tuple(json::Required("text", &EchoResult::text),
                      json::Required("workspace", &EchoResult::workspace),
                      json::Required("principal", &EchoResult::principal));
  }
};

inline std::string Text(const EchoResult& result) {
  return result.text;
}

/// Returns its text, the workspace and the principal.
inline Tool EchoTool() {
  const auto echo = [](const Context& context,
                       const EchoArguments& arguments) -> Result<EchoResult> {
    EchoResult result = {.workspace = context.workspace, .principal = context.principal};
    for (std::int64_t i = 0; i < arguments.times; ++i) result.text += arguments.text;
    return result;
  };
  return MakeTool<EchoArguments, EchoResult>({.name = "echo",
                                              .title = "Echo",
                                              .description = "Returns its text",
                                              .group = "core",
                                              .annotations = {.read_only = true,
                                                              .destructive = false,
                                                              .idempotent = true,
                                                              .open_world = false}},
                                             echo);
}

struct NoArguments {
  static constexpr bool kTakesBudget = true;
  static constexpr auto Members() { return std::tuple(); }
};

struct Count {
  std::int64_t count = 0;
  static constexpr auto Members() { return std::tuple(json::Required("count", &Count::count)); }
};

inline std::string Text(const Count& result) {
  return "count " + std::to_string(result.count);
}

inline Row WritingRow(std::string name) {
  return {.name = std::move(name),
          .title = "A tool for tests",
          .description = "A tool for tests",
          .group = "more",
          .annotations = {
              .read_only = false, .destructive = true, .idempotent = false, .open_world = true}};
}

/// Returns its budget.
inline Tool BudgetTool() {
  const auto budget = [](const Context& context, const NoArguments& /*none*/) -> Result<Count> {
    return Count{context.budget_tokens};
  };
  return MakeTool<NoArguments, Count>(WritingRow("budget"), budget);
}

/// Fails with advice.
inline Tool FailTool() {
  const auto fail = [](const Context& /*context*/, const NoArguments& /*none*/) -> Result<Count> {
    return Error(ErrorKind::kNotFound, "no such file").WithFix("Try: ls");
  };
  return MakeTool<NoArguments, Count>(WritingRow("fail"), fail);
}

/// Throws, as only a defect does.
inline Tool ThrowTool() {
  const auto fail = [](const Context& /*context*/, const NoArguments& /*none*/) -> Result<Count> {
    throw std::runtime_error("a defect");
  };
  return MakeTool<NoArguments, Count>(WritingRow("throw"), fail);
}

/// Reports progress three times and then waits until it is cancelled, a minute at most.
inline Tool WaitTool() {
  const auto wait = [](const Context& context, const NoArguments& /*none*/) -> Result<Count> {
    for (int i = 1; i <= 3 && context.progress; ++i) {
      context.progress({.done = static_cast<double>(i), .total = 3, .message = "step"});
    }
    for (int i = 0; i < 6000 && !context.stop.stop_requested(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return Count{3};
  };
  return MakeTool<NoArguments, Count>(WritingRow("wait"), wait);
}

struct Everything {
  std::string name;
  static constexpr auto Members() { return std::tuple(json::Required("name", &Everything::name)); }
};

inline std::vector<Block> Blocks(const Everything& /*result*/) {
  return {TextBlock{"all kinds"}, ImageBlock{"\x89PNG", "image/png"},
          ResourceBlock{"file:///a.txt", "text/plain", "text of a"},
          ResourceBlock{"file:///b", "application/octet-stream", std::string("\0\xff", 2),
                        ResourceBlock::Form::kBytes},
          ResourceLinkBlock{
              .uri = "file:///c.txt", .name = "c.txt", .mime_type = "text/plain", .size = 3}};
}

/// Returns a block of every kind.
inline Tool BlocksTool() {
  const auto all = [](const Context& /*context*/,
                      const NoArguments& /*none*/) -> Result<Everything> {
    return Everything{"all"};
  };
  return MakeTool<NoArguments, Everything>(WritingRow("blocks"), all);
}

/// Returns the registry of all tools in this file.
inline Registry SampleRegistry() {
  return Registry::Make(
             {WaitTool(), EchoTool(), BudgetTool(), FailTool(), ThrowTool(), BlocksTool()})
      .value();
}

}  // namespace polybox::tools::testing
