// Answers the requests for documents and prompts: resources/list, resources/templates/list,
// resources/read, prompts/list, prompts/get and completion/complete. Keeps nothing. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "mcp/json_rpc.h"
#include "mcp/version.h"
#include "tools/context.h"
#include "tools/prompt.h"
#include "tools/resource.h"

namespace polybox::mcp {

using Sources = std::vector<std::shared_ptr<const tools::ResourceSource>>;

class Documents {
 public:
  Documents(Sources sources, std::vector<tools::Prompt> prompts)
      : sources_(std::move(sources)), prompts_(std::move(prompts)) {}

  bool has_sources() const { return !sources_.empty(); }
  bool has_prompts() const { return !prompts_.empty(); }
  /// Returns whether there is anything whose values can be completed.
  bool completes() const { return has_sources() || has_prompts(); }

  Outcome ListResources(const Request& request, Version version,
                        const tools::Context& context) const;
  Outcome ListTemplates(const Request& request, Version version,
                        const tools::Context& context) const;
  Outcome ReadResource(const Request& request, Version version,
                       const tools::Context& context) const;
  Outcome ListPrompts(const Request& request, Version version, const tools::Context& context) const;
  Outcome GetPrompt(const Request& request, Version version, const tools::Context& context) const;
  Outcome Complete(const Request& request, Version version, const tools::Context& context) const;

  /// Watches a document. The error says why that cannot be.
  Result<std::unique_ptr<tools::Watch>> WatchFor(const tools::Context& context,
                                                 std::string_view uri,
                                                 std::function<void()> changed) const;

 private:
  const tools::Prompt* FindPrompt(std::string_view name) const;

  Sources sources_;
  std::vector<tools::Prompt> prompts_;
};

/// Returns the error for a URI that names no document of this caller.
RpcError NoResource(Version version, std::string_view uri, std::string_view why);
/// Returns a member of the parameters that must be a string, or the error that says so.
std::variant<std::string_view, RpcError> TextParam(const json::Object& params,
                                                   std::string_view name);

}  // namespace polybox::mcp
