// Draws a diagram with a program in the jail of the workspace, for the render tools. The picture
// comes through a pipe, and is written into the workspace only when the program has succeeded. Any
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/bind.h"
#include "tools/context.h"

namespace polybox::tools {

/// A row of src/tools/render-programs.toml.
struct RenderProgram {
  std::string shown;
  std::string command;
  std::string script;
  std::string install;
};
/// By the name of the tool.
using RenderPrograms = std::map<std::string, RenderProgram, std::less<>>;

/// Reads a list. `origin` names the file in errors.
Result<RenderPrograms> ParseRenderPrograms(std::string_view toml, const std::string& origin);

struct RenderArguments {
  std::string source;
  std::string output_path;
  double timeout = 0;

  static constexpr auto Members() {
    return std::tuple(
        json::Required("source", &RenderArguments::source),
        json::Required("output_path", &RenderArguments::output_path, "Ends in .svg, .png or .pdf"),
        json::Optional("timeout", &RenderArguments::timeout, "Seconds, 60 if absent, at most 300"));
  }
};

struct RenderResult {
  std::string output_path = {};
  std::string path = {};
  std::int64_t bytes = 0;
  std::string format = {};
  bool created = false;

  static constexpr auto Members() {
    return std::tuple(json::Required("path", &RenderResult::path, "From the workspace"),
                      json::Required("bytes", &RenderResult::bytes),
                      json::Required("format", &RenderResult::format),
                      json::Required("created", &RenderResult::created));
  }
};

std::string Text(const RenderResult& result);

/// Does what the tool of this name promises.
Result<RenderResult> Render(std::string_view tool, const Context& context,
                            const RenderArguments& arguments);

}  // namespace polybox::tools
