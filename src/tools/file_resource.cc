#include "tools/file_resource.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/files.h"
#include "base/printable.h"
#include "tools/file_target.h"
#include "tools/media_type.h"
#include "workspace/workspace_set.h"

namespace polybox::tools {
namespace {

constexpr std::string_view kTemplate = "file:///{+path}";
/// A document comes as a whole. What is longer is for the tool Read, which shows parts.
constexpr Bytes kLargest = Bytes::KiB(512);

/// Returns whether the path is that of the workspace or below it, as far as its text says.
bool IsBelow(std::string_view path, std::string_view root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

/// Returns the context of a call in the workspace that holds the path. The innermost one counts.
Result<Context> ContextFor(const Context& context, std::string_view path) {
  const workspace::Workspace* found = nullptr;
  if (context.workspaces == nullptr) return Error(ErrorKind::kNotFound, "no workspaces");
  for (const auto& each : context.workspaces->all()) {
    const workspace::Root root = each->root();
    if (!IsBelow(path, root.path) && !IsBelow(path, root.spelled)) continue;
    if (found == nullptr || each->path().size() > found->path().size()) found = each.get();
  }
  if (found == nullptr) {
    return Error(ErrorKind::kNotFound, "path is outside every workspace");
  }
  Context own = context;
  own.workspace = found->name();
  return own;
}

Result<ResourceText> ReadDocument(const Context& context, const std::string& path,
                                  std::string_view uri) {
  POLYBOX_ASSIGN_OR_RETURN(const Context own, ContextFor(context, path));
  POLYBOX_ASSIGN_OR_RETURN(const WorkspaceCall call, WorkspaceCall::Begin(own, Purpose::kRead));
  POLYBOX_ASSIGN_OR_RETURN(const OpenFile file, OpenPlainFile(call, path));
  Result<std::string> whole = ReadAll(file.fd.get(), kLargest);
  if (!whole.ok()) return std::move(whole).error().WithFix("The tool Read shows parts of a file");
  std::string content = std::move(whole).value();
  using Form = ResourceBlock::Form;
  const std::string_view picture = ImageType(content);
  const bool is_text = picture.empty() && !IsBinary(content);
  const std::string_view type = is_text           ? "text/plain"
                                : picture.empty() ? "application/octet-stream"
                                                  : picture;
  return ResourceText{{std::string(uri), std::string(type), std::move(content),
                       is_text ? Form::kText : Form::kBytes}};
}

Result<std::unique_ptr<Watch>> WatchFile(const Context& context, const std::string& path,
                                         ChangeWatcher& watcher, std::function<void()> changed) {
  POLYBOX_ASSIGN_OR_RETURN(const Context own, ContextFor(context, path));
  POLYBOX_ASSIGN_OR_RETURN(const WorkspaceCall call, WorkspaceCall::Begin(own, Purpose::kRead));
  POLYBOX_ASSIGN_OR_RETURN(const workspace::Place place, call.Locate(path));
  if (!place.missing.empty()) {
    return Error(ErrorKind::kNotFound, "there is no directory for this path");
  }
  return watcher.WatchEntry(place.parent.get(), place.name, std::move(changed));
}

/// Whoever may not know of a file learns no more than that there is none.
Error AsNotFound(const Error& error) {
  return Error(ErrorKind::kNotFound, error.message()).WithFix(error.fix());
}

}  // namespace

std::vector<ResourceTemplate> FileResources::Templates() const {
  return {{.uri_template = std::string(kTemplate),
           .name = "file",
           .description = "A file of a workspace, by its absolute path",
           .mime_type = ""}};
}

std::optional<Result<ResourceText>> FileResources::Read(const Context& context,
                                                        std::string_view uri) const {
  const std::optional<Result<std::string>> path = PathOfFileUri(uri);
  if (!path) return std::nullopt;
  if (!path->ok()) return path->error();
  Result<ResourceText> read = ReadDocument(context, path->value(), uri);
  if (!read.ok()) return AsNotFound(read.error());
  return read;
}

std::optional<Result<std::unique_ptr<Watch>>> FileResources::WatchFor(
    const Context& context, std::string_view uri, std::function<void()> changed) const {
  const std::optional<Result<std::string>> path = PathOfFileUri(uri);
  if (!path) return std::nullopt;
  if (!path->ok()) return path->error();
  auto watch = WatchFile(context, path->value(), *watcher_, std::move(changed));
  if (!watch.ok()) return AsNotFound(watch.error());
  return watch;
}

}  // namespace polybox::tools
