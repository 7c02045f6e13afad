// Glob: files by the pattern of their path, the latest change first.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "tools/budget.h"
#include "tools/search_scope.h"
#include "tools/tool.h"
#include "tools/walk_notes.h"
#include "workspace/glob_pattern.h"

namespace polybox::tools {
namespace {

constexpr std::int64_t kDefaultFiles = 100;
/// Files that are kept while all matches are compared. No budget can show more.
constexpr std::size_t kMostKept = 100'000;

struct GlobArguments {
  std::string pattern;
  std::string path = {};
  std::int64_t limit = kDefaultFiles;
  std::int64_t offset = 0;
  bool include_ignored = false;

  static constexpr bool kTakesBudget = true;
  static constexpr auto Members() {
    return std::tuple(json::Required("pattern", &GlobArguments::pattern,
                                     "*.go in any directory; src/**/*.{ts,tsx}"),
                      json::Optional("path", &GlobArguments::path, "Directory to search"),
                      json::Optional("limit", &GlobArguments::limit, "Number of files"),
                      json::Optional("offset", &GlobArguments::offset, "Files to skip"),
                      json::Optional("include_ignored", &GlobArguments::include_ignored,
                                     "Also hidden files and those of .gitignore"));
  }
};

struct GlobResult {
  std::vector<std::string> files = {};
  std::int64_t total = 0;
  std::vector<std::string> notes = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("files", &GlobResult::files, "Latest change first"),
                      json::Required("total", &GlobResult::total),
                      json::Optional("notes", &GlobResult::notes));
  }
};

std::string Text(const GlobResult& result) {
  std::string text;
  for (const std::string& file : result.files) {
    if (!text.empty()) text += '\n';
    text += ShownPath(file);
  }
  if (result.notes.empty()) return text;
  std::string notes = NoteLines(result.notes);
  notes.pop_back();
  return text.empty() ? notes : text + "\n" + notes;
}

struct Match {
  timespec changed;
  std::string path;
};

/// The latest change first, then by path.
bool Before(const Match& left, const Match& right) {
  return std::tie(right.changed.tv_sec, right.changed.tv_nsec, left.path) <
         std::tie(left.changed.tv_sec, left.changed.tv_nsec, right.path);
}

/// The matches with the latest changes. Bounded in memory.
class Latest {
 public:
  void Add(Match match) {
    ++total_;
    matches_.push_back(std::move(match));
    if (matches_.size() < 2 * kMostKept) return;
    std::ranges::nth_element(matches_, matches_.begin() + kMostKept, Before);
    matches_.resize(kMostKept);
  }
  std::vector<Match> Sorted() {
    std::ranges::sort(matches_, Before);
    return std::move(matches_);
  }
  std::size_t total() const { return total_; }

 private:
  std::vector<Match> matches_;
  std::size_t total_ = 0;
};

/// Returns the pattern relative to the workspace, in any directory if it has no slash.
std::string PatternOf(const GlobArguments& arguments, const WorkspaceCall& call) {
  std::string_view pattern = arguments.pattern;
  const std::string root = call.workspace().path() + "/";
  if (pattern.starts_with(root)) pattern.remove_prefix(root.size());
  const bool anywhere = pattern.find('/') == std::string_view::npos && pattern != "**";
  return (anywhere ? "**/" : "") + std::string(pattern);
}

/// Returns whether the caller names hidden files.
bool NamesHidden(std::string_view text) {
  const std::vector<std::string_view> names = workspace::SplitPath(text);
  return std::ranges::any_of(names, [](std::string_view name) {
    return name.size() > 1 && name.starts_with('.') && name != "..";
  });
}

/// Puts the matches that were asked for into the result.
void Select(const Context& context, const GlobArguments& arguments, Latest& latest,
            GlobResult& result) {
  result.total = static_cast<std::int64_t>(latest.total());
  const std::int64_t limit = arguments.limit > 0 ? arguments.limit : kDefaultFiles;
  const auto skipped = static_cast<std::size_t>(std::max<std::int64_t>(arguments.offset, 0));
  Budget budget(context.budget_tokens);
  const std::vector<Match> matches = latest.Sorted();
  for (std::size_t i = skipped;
       i < matches.size() && static_cast<std::int64_t>(result.files.size()) < limit; ++i) {
    if (!budget.Take(matches[i].path.size() + 1)) break;
    result.files.push_back(matches[i].path);
  }
  const std::int64_t next = arguments.offset + static_cast<std::int64_t>(result.files.size());
  if (next < result.total && (budget.spent() || limit == kDefaultFiles)) {
    result.notes.push_back(
        fmt::format("{} more left out; offset={} shows the next", result.total - next, next));
  }
}

Result<GlobResult> FindFiles(const Context& context, const GlobArguments& arguments) {
  if (arguments.pattern.empty()) return Error(ErrorKind::kInvalid, "pattern is required");
  POLYBOX_ASSIGN_OR_RETURN(const WorkspaceCall call, WorkspaceCall::Begin(context, Purpose::kRead));
  POLYBOX_ASSIGN_OR_RETURN(const SearchScope scope, FindDirectory(call, arguments.path));
  POLYBOX_ASSIGN_OR_RETURN(const workspace::Glob glob,
                           workspace::Glob::Compile(PatternOf(arguments, call)));
  workspace::FileWalkOptions options = WalkOptionsFor(context);
  const bool hidden = NamesHidden(arguments.pattern) || NamesHidden(arguments.path);
  options.hidden =
      hidden || arguments.include_ignored ? workspace::Hidden::kInclude : workspace::Hidden::kSkip;
  if (arguments.include_ignored) options.ignored = workspace::Ignored::kInclude;
  // A pattern may be relative to the root of the workspace or to the argument `path`.
  const std::size_t prefix = scope.place.IsRoot() ? 0 : scope.place.path.size() + 1;
  Latest latest;
  POLYBOX_ASSIGN_OR_RETURN(const workspace::FileWalkReport report,
                           workspace::WalkFiles(call.workspace().root(), scope.place, options,
                                                [&](const workspace::FileWalkEntry& entry) {
                                                  const std::string_view path = entry.path;
                                                  const bool fits =
                                                      S_ISREG(entry.info.st_mode) &&
                                                      (glob.Matches(path.substr(prefix)) ||
                                                       (prefix > 0 && glob.Matches(path)));
                                                  if (fits)
                                                    latest.Add({entry.info.st_mtim, entry.path});
                                                  return workspace::Next::kContinue;
                                                }));
  GlobResult result;
  Select(context, arguments, latest, result);
  NoteWalk(report, result.notes);
  return result;
}

}  // namespace

Tool GlobTool() {
  return MakeTool<GlobArguments, GlobResult>(
      {.name = "Glob",
       .title = "Find files by name",
       .description =
           "Lists files whose path fits a pattern, the latest change first. Hidden files "
           "and those of .gitignore are left out unless the pattern names them.",
       .group = "core",
       .annotations =
           {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
      FindFiles);
}

}  // namespace polybox::tools
