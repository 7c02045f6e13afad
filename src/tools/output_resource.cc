#include "tools/output_resource.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/printable.h"
#include "tools/output_view.h"
#include "workspace/workspace_set.h"

namespace polybox::tools {
namespace {

constexpr std::string_view kTemplate = "output:///{shell_id}/{stream}{?from,bytes}";
constexpr std::size_t kShownCommand = 200;
constexpr std::size_t kShownUri = 400;
/// As many bytes as an answer of a tool shows when its caller does not say.
constexpr std::uint64_t kUsualBytes = kDefaultBudgetTokens * 4;
/// What no client would show its model at once.
constexpr std::uint64_t kMostBytes = 1U << 20U;

std::string UriOf(std::string_view shell_id, std::string_view stream) {
  return fmt::format("{}{}/{}", kOutputUriBegin, shell_id, stream);
}

/// Returns the caller's commands of all workspaces.
std::vector<std::shared_ptr<shells::Shell>> ShellsOf(const Context& context) {
  std::vector<std::shared_ptr<shells::Shell>> all;
  if (context.shells == nullptr || context.workspaces == nullptr) return all;
  for (const auto& workspace : context.workspaces->all()) {
    const shells::Owner owner = {.workspace = workspace->name(), .principal = context.principal};
    for (auto& shell : context.shells->List(owner)) all.push_back(std::move(shell));
  }
  return all;
}

struct FoundStream {
  std::shared_ptr<shells::Shell> shell;
  const shells::OutputLog* log = nullptr;
};

Result<FoundStream> FindStream(const Context& context, const OutputUri& uri) {
  // The first workspace's error is as good as any other: the same for all who do not own it.
  std::optional<Error> unknown;
  if (context.shells != nullptr && context.workspaces != nullptr) {
    for (const auto& workspace : context.workspaces->all()) {
      auto shell = context.shells->Find(
          {.workspace = workspace->name(), .principal = context.principal}, uri.shell_id);
      if (!shell.ok()) {
        if (!unknown || unknown->fix().empty()) unknown = shell.error();
        continue;
      }
      const shells::OutputLog* log = (*shell)->FindStream(uri.stream);
      if (log == nullptr) {
        return Error(ErrorKind::kNotFound, fmt::format("the command has no stream \"{}\"",
                                                       Printable(uri.stream, kShownUri)));
      }
      return FoundStream{std::move(shell).value(), log};
    }
  }
  return unknown ? *std::move(unknown) : Error(ErrorKind::kNotFound, "no commands have run");
}

/// Drops the bytes of a character whose end is not in the part. The next part begins with them.
void DropCutCharacter(std::string& bytes) {
  for (std::size_t length = 1; length <= 3 && length <= bytes.size(); ++length) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - length]);
    if ((byte & 0xc0U) == 0x80U) continue;
    const std::size_t wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (wanted > length) bytes.resize(bytes.size() - length);
    return;
  }
}

ResourceText ReadPart(const OutputUri& uri, std::string_view asked, const FoundStream& found) {
  const std::uint64_t most = std::min(uri.bytes.value_or(kUsualBytes), kMostBytes);
  const std::uint64_t end = found.log->extent().end;
  shells::Chunk chunk =
      shells::ReadOn(*found.log, std::min(uri.from, end), static_cast<std::size_t>(most));
  if (chunk.bytes.size() > most) chunk.bytes.resize(most);
  if (chunk.begin + chunk.bytes.size() < end && chunk.bytes.size() > 4) {
    DropCutCharacter(chunk.bytes);
  }
  const std::uint64_t next = chunk.begin + chunk.bytes.size();
  ResourceText part = {.content = {std::string(asked), "text/plain", ReadableText(chunk.bytes)}};
  if (next < found.log->extent().end || found.shell->IsAlive()) {
    part.next_uri = fmt::format("{}?from={}", UriOf(uri.shell_id, uri.stream), next);
    if (uri.bytes) part.next_uri += fmt::format("&bytes={}", *uri.bytes);
  }
  return part;
}

}  // namespace

ResourceLinkBlock LinkToOutput(std::string_view shell_id, std::string_view stream,
                               std::uint64_t size) {
  return {.uri = UriOf(shell_id, stream),
          .name = std::string(stream),
          .description = "The whole output of the command",
          .mime_type = "text/plain",
          .size = static_cast<std::int64_t>(size)};
}

std::vector<ResourceInfo> OutputResources::List(const Context& context) const {
  std::vector<ResourceInfo> list;
  for (const auto& shell : ShellsOf(context)) {
    for (const shells::Stream& stream : shell->streams()) {
      const std::string command = Printable(shell->options().command, kShownCommand);
      list.push_back({.uri = UriOf(shell->id(), stream.name),
                      .name = fmt::format("{} of: {}", stream.name, command),
                      .description = fmt::format("{}, started {}", StatusOf(*shell),
                                                 TimeText(shell->started())),
                      .mime_type = "text/plain",
                      .size = static_cast<std::int64_t>(stream.log->extent().end)});
    }
  }
  return list;
}

std::vector<ResourceTemplate> OutputResources::Templates() const {
  return {{.uri_template = std::string(kTemplate),
           .name = "output",
           .description = "Stored output of a command, from a byte on; _meta names the next part",
           .mime_type = "text/plain"}};
}

std::optional<Result<ResourceText>> OutputResources::Read(const Context& context,
                                                          std::string_view uri) const {
  const std::optional<Result<OutputUri>> parsed = ParseOutputUri(uri);
  if (!parsed) return std::nullopt;
  if (!parsed->ok()) return parsed->error();
  const Result<FoundStream> found = FindStream(context, parsed->value());
  if (!found.ok()) return found.error();
  return ReadPart(parsed->value(), uri, *found);
}

std::optional<Result<std::unique_ptr<Watch>>> OutputResources::WatchFor(
    const Context& context, std::string_view uri, std::function<void()> changed) const {
  const std::optional<Result<OutputUri>> parsed = ParseOutputUri(uri);
  if (!parsed) return std::nullopt;
  if (!parsed->ok()) return parsed->error();
  const Result<FoundStream> found = FindStream(context, parsed->value());
  if (!found.ok()) return found.error();
  return watcher_->WatchShell(found->shell, std::move(changed));
}

std::optional<Completions> OutputResources::Complete(const Context& context,
                                                     std::string_view uri_template,
                                                     std::string_view variable,
                                                     std::string_view begin) const {
  if (uri_template != kTemplate) return std::nullopt;
  Completions found;
  const auto add = [&](const std::string& value) {
    const bool is_new = std::ranges::find(found.values, value) == found.values.end();
    if (value.starts_with(begin) && is_new) found.values.push_back(value);
  };
  for (const auto& shell : ShellsOf(context)) {
    if (variable == "shell_id") add(shell->id());
    for (const shells::Stream& stream : shell->streams()) {
      if (variable == "stream") add(stream.name);
    }
  }
  return found;
}

}  // namespace polybox::tools
