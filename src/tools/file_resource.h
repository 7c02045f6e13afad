// The files of the workspaces as documents: file:///ABSOLUTE/PATH. Every path goes through the
// containment of src/workspace, as that of a tool does. The files are not listed.
#pragma once

#include <memory>

#include "tools/change_watcher.h"
#include "tools/document_uri.h"
#include "tools/resource.h"

namespace polybox::tools {

class FileResources : public ResourceSource {
 public:
  explicit FileResources(std::shared_ptr<ChangeWatcher> watcher) : watcher_(std::move(watcher)) {}

  std::vector<ResourceTemplate> Templates() const override;
  std::optional<Result<ResourceText>> Read(const Context& context,
                                           std::string_view uri) const override;
  std::optional<Result<std::unique_ptr<Watch>>> WatchFor(
      const Context& context, std::string_view uri, std::function<void()> changed) const override;

 private:
  const std::shared_ptr<ChangeWatcher> watcher_;
};

}  // namespace polybox::tools
