// How the files of this folder make their tools: a name, a text and a function that returns blocks.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/parse.h"
#include "tools/client.h"
#include "tools/tool.h"

namespace polybox::conformance {

struct NoArguments {
  static constexpr auto Members() { return std::tuple(); }
};

/// The result of every tool: blocks, and no data.
struct Shown {
  std::vector<tools::Block> blocks = {};
  static constexpr auto Members() { return std::tuple(); }
};

inline std::vector<tools::Block> Blocks(const Shown& shown) {
  return shown.blocks;
}

inline std::vector<tools::Block> TextOf(std::string text) {
  return {tools::TextBlock{std::move(text)}};
}

/// A function of a tool.
template <typename A>
using Body = std::function<Result<std::vector<tools::Block>>(const tools::Context&, const A&)>;

template <typename A = NoArguments>
tools::Tool FixtureTool(std::string name, std::type_identity_t<Body<A>> body,
                        tools::TaskUse tasks = tools::TaskUse::kNever) {
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): std::function owns what it allocates.
  return tools::MakeTool<A, Shown>(
      {.name = name,
       .title = name,
       .description = "A fixture of the conformance suite",
       .group = "conformance",
       .annotations =
           {.read_only = true, .destructive = false, .idempotent = true, .open_world = false},
       .tasks = tasks},
      [body = std::move(body)](const tools::Context& context, const A& arguments) -> Result<Shown> {
        POLYBOX_ASSIGN_OR_RETURN(std::vector<tools::Block> blocks, body(context, arguments));
        return Shown{std::move(blocks)};
      });
}

/// Returns the object in a text of this program.
inline json::Object Parsed(std::string_view text) {
  return json::Parse(text).value().as_object();
}

/// Returns a question for the person in front of the client.
inline tools::Question Elicitation(std::string key, std::string_view message,
                                   std::string_view schema) {
  return {std::move(key),
          "elicitation/create",
          {{"message", message}, {"requestedSchema", Parsed(schema)}}};
}

/// Asks the client. Fails if nobody can be asked.
Result<json::Object> Ask(const tools::Context& context,
                         const std::vector<tools::Question>& questions);

/// Pictures and sounds as small as they can be.
std::string SmallPng();
std::string SmallWav();

// The tools of the files of the same names.
std::vector<tools::Tool> ContentTools();
std::vector<tools::Tool> QuestionTools();
std::vector<tools::Tool> TaskTools();

}  // namespace polybox::conformance
