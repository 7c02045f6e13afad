// List: the entries of a directory.
#include <climits>
#include <unistd.h>

#include <fmt/format.h>

#include "tools/budget.h"
#include "tools/search_scope.h"
#include "tools/tool.h"
#include "tools/walk_notes.h"

namespace polybox::tools {
namespace {

constexpr std::int64_t kDefaultEntries = 1000;
constexpr std::int64_t kDeepest = 20;

struct ListArguments {
  std::string path = {};
  std::int64_t depth = 1;
  std::int64_t limit = kDefaultEntries;
  std::int64_t offset = 0;

  static constexpr bool kTakesBudget = true;
  static constexpr auto Members() {
    return std::tuple(
        json::Optional("path", &ListArguments::path, "Directory; the workspace if absent"),
        json::Optional("depth", &ListArguments::depth, "Levels of directories")
            .Min(1)
            .Max(kDeepest),
        json::Optional("limit", &ListArguments::limit, "Number of entries"),
        json::Optional("offset", &ListArguments::offset, "Entries to skip"));
  }
};

enum class Type { kFile, kDirectory, kLink, kOther };

std::vector<std::pair<Type, std::string_view>> NamesOf(Type /*type*/) {
  return {{Type::kFile, "file"},
          {Type::kDirectory, "directory"},
          {Type::kLink, "link"},
          {Type::kOther, "other"}};
}

struct ListedEntry {
  std::string path = {};
  Type type = Type::kFile;
  std::optional<std::int64_t> bytes = {};
  std::optional<std::string> target = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("path", &ListedEntry::path),
                      json::Required("type", &ListedEntry::type),
                      json::Optional("bytes", &ListedEntry::bytes),
                      json::Optional("target", &ListedEntry::target));
  }
};

struct ListResult {
  std::vector<ListedEntry> entries = {};
  std::int64_t total = 0;
  std::vector<std::string> notes = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("entries", &ListResult::entries),
                      json::Required("total", &ListResult::total),
                      json::Optional("notes", &ListResult::notes));
  }
};

/// Returns the line of an entry. Only plain files have a size, which stands behind a tab.
std::string LineOf(const ListedEntry& entry) {
  const std::string path = ShownPath(entry.path);
  switch (entry.type) {
    case Type::kDirectory:
      return path + "/\n";
    case Type::kLink:
      return path + " -> " + ShownPath(entry.target.value_or("")) + "\n";
    case Type::kFile:
      return fmt::format("{}\t{}\n", path, entry.bytes.value_or(0));
    case Type::kOther:
      break;
  }
  return path + "\t(not a file)\n";
}

/// The notes come last: they say what the list lacks and how to get it.
std::string Text(const ListResult& result) {
  std::string text;
  for (const ListedEntry& entry : result.entries) text += LineOf(entry);
  return text + NoteLines(result.notes);
}

/// Returns the entry as the answer shows it. A link is not followed: its target may be outside of
/// the workspace.
ListedEntry Describe(const workspace::FileWalkEntry& entry) {
  ListedEntry listed{.path = entry.path, .type = Type::kOther};
  const mode_t mode = entry.info.st_mode;
  if (S_ISDIR(mode)) listed.type = Type::kDirectory;
  if (S_ISREG(mode)) {
    listed.type = Type::kFile;
    listed.bytes = entry.info.st_size;
  }
  if (S_ISLNK(mode)) {
    listed.type = Type::kLink;
    char target[PATH_MAX];
    const ssize_t size = ::readlinkat(entry.directory, entry.name.c_str(), target, sizeof target);
    listed.target = std::string(target, size > 0 ? static_cast<std::size_t>(size) : 0);
  }
  return listed;
}

Result<ListResult> ListEntries(const Context& context, const ListArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const WorkspaceCall call, WorkspaceCall::Begin(context, Purpose::kRead));
  POLYBOX_ASSIGN_OR_RETURN(const SearchScope scope, FindDirectory(call, arguments.path));
  workspace::FileWalkOptions options = WalkOptionsFor(context);
  options.ignored = workspace::Ignored::kShow;
  options.depth = static_cast<int>(arguments.depth) - 1;
  const std::int64_t limit = arguments.limit > 0 ? arguments.limit : kDefaultEntries;
  Budget budget(context.budget_tokens);
  ListResult result;
  POLYBOX_ASSIGN_OR_RETURN(
      const workspace::FileWalkReport report,
      workspace::WalkFiles(call.workspace().root(), scope.place, options,
                           [&](const workspace::FileWalkEntry& entry) {
                             const bool wanted =
                                 result.total++ >= arguments.offset &&
                                 static_cast<std::int64_t>(result.entries.size()) < limit;
                             if (!wanted || budget.spent()) return workspace::Next::kContinue;
                             ListedEntry listed = Describe(entry);
                             if (budget.Take(LineOf(listed).size())) {
                               result.entries.push_back(std::move(listed));
                             }
                             return workspace::Next::kContinue;
                           }));
  const std::int64_t next = arguments.offset + static_cast<std::int64_t>(result.entries.size());
  if (next < result.total && (budget.spent() || limit == kDefaultEntries)) {
    result.notes.push_back(
        fmt::format("{} more left out; offset={} shows the next", result.total - next, next));
  }
  NoteWalk(report, result.notes);
  return result;
}

}  // namespace

Tool ListTool() {
  return MakeTool<ListArguments, ListResult>(
      {.name = "List",
       .title = "List a directory",
       .description = "Lists the entries of a directory with their sizes. Directories that "
                      ".gitignore names are shown but not entered.",
       .group = "core",
       .annotations =
           {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
      ListEntries);
}

}  // namespace polybox::tools
