// The tools that a server offers, in an order that never changes: sorted by name, so that a
// client's prompt cache stays valid. Immutable once made; any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/tool.h"

namespace polybox::tools {

/// The group that a server offers by default.
inline constexpr std::string_view kCoreGroup = "core";
/// The word that stands for all groups.
inline constexpr std::string_view kAllGroups = "all";

class Registry {
 public:
  /// Fails if a row breaks a rule of tools/tool.h or if two tools have one name.
  static Result<Registry> Make(std::vector<Tool> tools);

  /// Returns the tools of these groups; "all" names every group. Fails for a group without a tool,
  /// with the nearest known name.
  Result<Registry> Select(const std::vector<std::string>& groups) const;
  /// Returns the tools that change nothing and need nothing that could.
  Registry ReadOnly() const;
  /// Returns the tools that do not need `what`.
  Registry Without(Needs what) const;
  /// Returns the registry with `change` applied to each tool. The names must stay.
  Registry Changed(const std::function<Tool(Tool)>& change) const;

  /// Returns null if there is no such tool.
  const Tool* Find(std::string_view name) const;
  const std::vector<Tool>& tools() const { return tools_; }
  /// Returns the names of all groups: "core" first, then sorted.
  std::vector<std::string> Groups() const;

 private:
  explicit Registry(std::vector<Tool> tools) : tools_(std::move(tools)) {}

  std::vector<Tool> tools_;
};

}  // namespace polybox::tools
