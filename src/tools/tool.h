// A tool: a function for agents with typed arguments and a typed result. From the two structs come
// the schemas, the checks of the arguments and the reference page. Tools know no protocol. A new
// tool is one file `src/tools/NAME_tool.cc` that defines one function:
//
//   namespace polybox::tools {
//   namespace {
//   struct Arguments {
//     std::string file_path;
//     static constexpr auto Members() {
//       return std::tuple(json::Required("file_path", &Arguments::file_path, "Path of the file"));
//     }
//   };
//   struct Removed { ... Members() ... };
//   std::string Text(const Removed& removed) { return "removed " + removed.file_path; }
//   Result<Removed> Remove(const Context& context, const Arguments& arguments) { ... }
//   }  // namespace
//
//   Tool RemoveTool() {  // remove_tool.cc
//     return MakeTool<Arguments, Removed>(
//         {.name = "remove", .title = "Remove a file", .description = "...", .group = "files",
//          .annotations = {.read_only = false, .destructive = true, .idempotent = true,
//                          .open_world = false}},
//         Remove);
//   }
//   }  // namespace polybox::tools
//
// Every tool also takes the argument `workspace`, and `budget_tokens` if its arguments struct has
// `static constexpr bool kTakesBudget = true`; Context has their values. A result whose answer is
// more than one text has `std::vector<Block> Blocks(const R&)` instead of Text().
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/bind.h"
#include "tools/answer.h"
#include "tools/context.h"

namespace polybox::tools {

/// What a client may expect of a call, for its question whether to allow it. All four must be set.
struct Annotations {
  bool read_only;    ///< Changes nothing that anybody else can see.
  bool destructive;  ///< May overwrite or remove something. Never with read_only.
  bool idempotent;   ///< The same call again changes nothing more. Always with read_only.
  bool open_world;   ///< May reach beyond the workspace, for example a host of the network.
};

/// What a tool needs beside the files of the workspace.
enum class Needs {
  kNothing,
  kCommands,  ///< Commands that run or have run. A server with `readonly` starts none.
  kSecrets,   ///< Secrets of the operator. A server without any does not offer the tool.
};

/// Whether a call may go on as a task, whose result the client fetches later.
enum class TaskUse {
  kNever,
  kMay,   ///< The tool decides, with Client::BecomeTask(), or the client that asks for a task.
  kMust,  ///< A client that takes no tasks is refused.
};

/// What there is to say of a tool besides its structs.
struct Row {
  /// 1 to 48 of A-Z, a-z, 0-9, "_", "-" and ".": what every client accepts.
  std::string name;
  /// A few words for a person.
  std::string title;
  /// What the tool does and when to use it, for a model. Each word is paid in every conversation.
  std::string description;
  /// The set that the tool belongs to: "core", or another word of a-z, 0-9 and "_".
  std::string group;
  Annotations annotations;
  Needs needs = Needs::kNothing;
  TaskUse tasks = TaskUse::kNever;
  /// The answer is not scrubbed (tools/scrub_answers.h), because it is a secret itself.
  bool reveals_secrets = false;
};

struct Tool {
  Row row;
  json::Object input_schema;
  json::Object output_schema;
  /// The tool can answer at length and keeps to the budget of the call.
  bool takes_budget = false;
  /// Decodes the arguments and calls the function. A wrong argument is an answer with is_error that
  /// names it. Any thread, also several at once.
  std::function<ToolAnswer(const Context&, const json::Value& arguments)> call;
};

/// An arguments struct whose tool can answer at length.
template <typename A>
concept TakesBudget = A::kTakesBudget;

/// The arguments of a tool together with those that every tool takes.
template <typename A>
struct WithCommon : A {
  std::optional<std::string> workspace = {};
  std::int64_t budget_tokens = kDefaultBudgetTokens;

  static constexpr auto Members() {
    const auto all = std::tuple_cat(
        A::Members(),
        std::tuple(json::Optional("workspace", &WithCommon::workspace, "Name of the workspace")));
    if constexpr (TakesBudget<A>) {
      // At least a few lines; at most what no client would take.
      return std::tuple_cat(all,
                            std::tuple(json::Optional("budget_tokens", &WithCommon::budget_tokens,
                                                      "Most tokens of the answer")
                                           .Min(100)
                                           .Max(1'000'000)));
    } else {
      return all;
    }
  }
};

/// Returns what to show of a result.
template <typename R>
std::vector<Block> BlocksOf(const R& result) {
  if constexpr (requires { Blocks(result); }) {
    return Blocks(result);
  } else {
    return {TextBlock{Text(result)}};
  }
}

/// Returns the tool that `row` describes and `function` does.
template <typename A, typename R>
Tool MakeTool(Row row, std::function<Result<R>(const Context&, const A&)> function) {
  auto call = [function = std::move(function)](const Context& context,
                                               const json::Value& arguments) -> ToolAnswer {
    const Result<WithCommon<A>> decoded = json::Decode<WithCommon<A>>(arguments, "arguments");
    if (!decoded.ok()) return ErrorAnswer(decoded.error());
    Context own = context;
    own.workspace = decoded->workspace.value_or("");
    own.budget_tokens = decoded->budget_tokens;
    const Result<R> result = function(own, *decoded);
    if (!result.ok()) return ErrorAnswer(result.error());
    return {.content = BlocksOf(*result), .structured = json::Encode(*result)};
  };
  return {.row = std::move(row),
          .input_schema = json::SchemaOf<WithCommon<A>>(),
          .output_schema = json::SchemaOf<R>(),
          .takes_budget = TakesBudget<A>,
          .call = std::move(call)};
}

}  // namespace polybox::tools
