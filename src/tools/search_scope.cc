#include "tools/search_scope.h"

#include <chrono>

#include <fmt/format.h>

#include "workspace/system_text.h"

namespace polybox::tools {
namespace {

/// Clients give up after 60 seconds. A search of a million files takes about ten.
constexpr std::chrono::seconds kLongestWalk{30};

}  // namespace

Result<SearchScope> FindScope(const WorkspaceCall& call, std::string_view path) {
  POLYBOX_ASSIGN_OR_RETURN(workspace::Place place, call.Locate(path));
  const Result<struct stat> info = workspace::StateOf(place);
  if (!info.ok()) {
    return workspace::CallError("stat", call.Absolute(place), info.error().system_errno())
        .In("stat path");
  }
  return SearchScope{std::move(place), *info};
}

Result<SearchScope> FindDirectory(const WorkspaceCall& call, std::string_view path) {
  POLYBOX_ASSIGN_OR_RETURN(SearchScope scope, FindScope(call, path));
  if (scope.IsDirectory()) return scope;
  return Error(ErrorKind::kInvalid, fmt::format("path is not a directory: {}", path));
}

workspace::FileWalkOptions WalkOptionsFor(const Context& context) {
  return {.stop = context.stop, .deadline = std::chrono::steady_clock::now() + kLongestWalk};
}

}  // namespace polybox::tools
