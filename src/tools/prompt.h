// A prompt: a text for a person to start a conversation with, filled with arguments.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/answer.h"
#include "tools/context.h"
#include "tools/resource.h"

namespace polybox::tools {

struct PromptArgument {
  std::string name;
  std::string description;
  bool required = true;
};

using PromptValues = std::map<std::string, std::string, std::less<>>;

struct Prompt {
  std::string name;
  std::string title;
  std::string description;
  std::vector<PromptArgument> arguments = {};
  /// Returns what the person says, a message per block. Every required argument is there.
  std::function<Result<std::vector<Block>>(const Context&, const PromptValues&)> messages = {};
  /// Returns values of an argument that begin with `begin`. Null: polybox knows none.
  std::function<Completions(const Context&, std::string_view argument, std::string_view begin)>
      complete = {};
};

}  // namespace polybox::tools
