// The stored output of commands as documents: output:///SHELL_ID/STREAM, from a byte on with
// `?from=N`, at most so many bytes with `bytes=M`. Only the owner of a command finds its output.
#pragma once

#include <memory>

#include "tools/change_watcher.h"
#include "tools/document_uri.h"
#include "tools/resource.h"
#include "tools/shell_call.h"

namespace polybox::tools {

class OutputResources : public ResourceSource {
 public:
  explicit OutputResources(std::shared_ptr<ChangeWatcher> watcher) : watcher_(std::move(watcher)) {}

  std::vector<ResourceInfo> List(const Context& context) const override;
  std::vector<ResourceTemplate> Templates() const override;
  std::optional<Result<ResourceText>> Read(const Context& context,
                                           std::string_view uri) const override;
  std::optional<Result<std::unique_ptr<Watch>>> WatchFor(
      const Context& context, std::string_view uri, std::function<void()> changed) const override;
  std::optional<Completions> Complete(const Context& context, std::string_view uri_template,
                                      std::string_view variable,
                                      std::string_view begin) const override;

 private:
  const std::shared_ptr<ChangeWatcher> watcher_;
};

/// Returns a link to a stream of a command, for an answer that does not show all of it.
ResourceLinkBlock LinkToOutput(std::string_view shell_id, std::string_view stream,
                               std::uint64_t size);

}  // namespace polybox::tools
