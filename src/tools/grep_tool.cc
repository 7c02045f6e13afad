// Grep: the lines of files that a regular expression matches.
#include <algorithm>
#include <climits>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/files.h"
#include "sys/guest_tree.h"
#include "tools/budget.h"
#include "tools/file_types.h"
#include "tools/grep_text.h"
#include "tools/line_ends.h"
#include "tools/media_type.h"
#include "tools/search_scope.h"
#include "tools/tool.h"
#include "tools/walk_notes.h"
#include "workspace/glob_pattern.h"

namespace polybox::tools {
namespace {

/// Larger files are data, not text that a person wrote. A file is held in memory.
constexpr Bytes kLargestSearched = Bytes::MiB(64);
/// Matching lines of one file that are kept. No budget can show more.
constexpr std::size_t kMostKept = 100'000;
/// The rest of a longer line is left out: one line of a minified program would fill the answer.
constexpr std::size_t kLongestLine = 2000;
constexpr std::int64_t kMostAround = 100;

enum class Mode { kContent, kFiles, kCount };

std::vector<std::pair<Mode, std::string_view>> NamesOf(Mode /*type*/) {
  return {
      {Mode::kContent, "content"}, {Mode::kFiles, "files_with_matches"}, {Mode::kCount, "count"}};
}

struct GrepArguments {
  std::string pattern;
  std::string path = {};
  std::string glob = {};
  std::string type = {};
  bool case_insensitive = false;
  bool multiline = false;
  std::string output_mode = "content";
  std::int64_t context = 0;
  std::optional<std::int64_t> before = {};
  std::optional<std::int64_t> after = {};
  std::int64_t head_limit = 0;
  std::int64_t offset = 0;
  bool include_ignored = false;

  static constexpr bool kTakesBudget = true;
  static constexpr auto Members() {
    return std::tuple(
        json::Required("pattern", &GrepArguments::pattern, "RE2 regular expression"),
        json::Optional("path", &GrepArguments::path, "File or directory"),
        json::Optional("glob", &GrepArguments::glob, "*.ts, src/**/*.{c,h}, !*.min.js"),
        json::Optional("type", &GrepArguments::type, "File type: py, ts, go, ..."),
        json::Optional("case_insensitive", &GrepArguments::case_insensitive),
        json::Optional("multiline", &GrepArguments::multiline, "Matches may span lines"),
        json::Optional("output_mode", &GrepArguments::output_mode,
                       "content, files_with_matches or count"),
        json::Optional("context", &GrepArguments::context, "Lines around each match")
            .Min(0)
            .Max(kMostAround),
        json::Optional("before", &GrepArguments::before).Min(0).Max(kMostAround),
        json::Optional("after", &GrepArguments::after).Min(0).Max(kMostAround),
        json::Optional("head_limit", &GrepArguments::head_limit, "Most matches; 0: no limit"),
        json::Optional("offset", &GrepArguments::offset, "Matches to skip"),
        json::Optional("include_ignored", &GrepArguments::include_ignored,
                       "Also files of .gitignore"));
  }
};

struct FoundLine {
  std::int64_t line = 0;
  std::string text = {};
  bool match = true;

  static constexpr auto Members() {
    return std::tuple(json::Required("line", &FoundLine::line),
                      json::Required("text", &FoundLine::text),
                      json::Required("match", &FoundLine::match));
  }
};

struct FoundFile {
  std::string path = {};
  std::int64_t count = 0;
  std::vector<FoundLine> lines = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("path", &FoundFile::path),
                      json::Optional("count", &FoundFile::count, "Matching lines"),
                      json::Optional("lines", &FoundFile::lines));
  }
};

struct GrepResult {
  Mode mode = Mode::kContent;
  /// The caller named one file, so lines do not begin with its path.
  bool single_file = false;
  bool has_context = false;
  std::vector<FoundFile> files = {};
  /// Matching lines, or files in the other modes.
  std::int64_t total = 0;
  std::int64_t left_out = 0;
  std::int64_t binary_files = 0;
  std::vector<std::string> notes = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("files", &GrepResult::files),
                      json::Required("total", &GrepResult::total),
                      json::Required("left_out", &GrepResult::left_out),
                      json::Optional("binary_files", &GrepResult::binary_files, "Not searched"),
                      json::Optional("notes", &GrepResult::notes));
  }
};

/// Returns the found lines of a file. The path is left out if the caller has named a single file.
std::string FileLines(const GrepResult& result, const FoundFile& file) {
  const std::string path = result.single_file ? "" : ShownPath(file.path);
  std::string text;
  std::int64_t last = 0;
  for (const FoundLine& line : file.lines) {
    // As in other tools, "--" stands for lines that are not shown.
    if (result.has_context && last != 0 && line.line > last + 1) text += "--\n";
    last = line.line;
    const char mark = line.match ? ':' : '-';
    if (!path.empty()) fmt::format_to(std::back_inserter(text), "{}{}", path, mark);
    fmt::format_to(std::back_inserter(text), "{}{}{}\n", line.line, mark, line.text);
  }
  return text;
}

/// Returns the answer in the form of grep, which models know from their training.
std::string Text(const GrepResult& result) {
  std::string text;
  for (const FoundFile& file : result.files) {
    const std::string path = ShownPath(file.path);
    if (result.mode == Mode::kFiles) text += path + "\n";
    if (result.mode == Mode::kCount && !result.single_file) text += path + ":";
    if (result.mode == Mode::kCount) text += std::to_string(file.count) + "\n";
    if (result.mode != Mode::kContent) continue;
    if (result.has_context && !text.empty()) text += "--\n";
    text += FileLines(result, file);
  }
  return text + NoteLines(result.notes);
}

/// Which files are searched.
struct Filter {
  std::optional<workspace::Glob> glob = {};
  bool glob_excludes = false;
  bool glob_is_name = false;
  std::vector<workspace::Glob> types = {};

  /// `scope` is the length of the prefix that leads to the directory in which the search starts. A
  /// glob with a slash fits with or without that prefix.
  bool Admits(std::string_view path, std::size_t scope) const {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const auto fits_name = [&](const workspace::Glob& each) { return each.Matches(name); };
    if (!types.empty() && std::ranges::none_of(types, fits_name)) return false;
    if (!glob) return true;
    const bool fits = glob_is_name ? glob->Matches(name)
                                   : glob->Matches(path) || glob->Matches(path.substr(scope));
    return fits != glob_excludes;
  }
};

Result<Filter> FilterOf(const GrepArguments& arguments) {
  Filter filter;
  if (!arguments.type.empty()) {
    POLYBOX_ASSIGN_OR_RETURN(filter.types, FilesOfType(arguments.type));
  }
  std::string_view glob = arguments.glob;
  if (glob.empty()) return filter;
  filter.glob_excludes = glob.starts_with('!');
  if (filter.glob_excludes) glob.remove_prefix(1);
  filter.glob_is_name = glob.find('/') == std::string_view::npos;
  POLYBOX_ASSIGN_OR_RETURN(workspace::Glob compiled, workspace::Glob::Compile(glob));
  filter.glob = std::move(compiled);
  return filter;
}

/// Returns the mode with this name. The error lists the valid names.
Result<Mode> ModeOf(const std::string& word) {
  for (const auto& [mode, name] : NamesOf(Mode::kContent)) {
    if (name == word) return mode;
  }
  return Error(
      ErrorKind::kInvalid,
      fmt::format("unknown output_mode: {} (valid: content, files_with_matches, count)", word));
}

/// Searches one file after another. Collects matches until the budget of the answer is used up, and
/// counts the others.
class Search {
 public:
  Search(const Context& context, const GrepArguments& arguments, const GrepPattern& pattern,
         GrepResult& result)
      : pattern_(pattern),
        around_{arguments.before.value_or(arguments.context),
                arguments.after.value_or(arguments.context)},
        skip_(std::max<std::int64_t>(arguments.offset, 0)),
        left_(arguments.head_limit > 0 ? arguments.head_limit : INT64_MAX),
        budget_(context.budget_tokens),
        result_(result) {
    result_.has_context = around_.before > 0 || around_.after > 0;
  }

  /// Searches an open plain file.
  void File(const std::string& path, int fd, const struct stat& info) {
    if (static_cast<std::uint64_t>(info.st_size) > kLargestSearched.count()) {
      Unread(path, "larger than " + FormatBytes(kLargestSearched));
      return;
    }
    Result<std::string> content = ReadAll(fd, kLargestSearched);
    if (!content.ok()) return Unread(path, content.error().message());
    if (IsBinary(*content)) {
      ++result_.binary_files;
      return;
    }
    if (content->starts_with(kByteOrderMark)) content->erase(0, kByteOrderMark.size());
    Content(path, content->find("\r\n") == std::string::npos ? *content : ToLf(*content));
  }

  /// Counts a file that could not be searched. Only the first one is named, so that the note stays
  /// short.
  void Unread(const std::string& path, std::string_view why) {
    if (unread_++ > 0) return;
    first_unread_ = fmt::format("{}: {}", ShownPath(path), why);
  }

  /// Puts the counts of what is left out into the result.
  void Finish() {
    if (result_.left_out > 0 && budget_.spent()) {
      result_.notes.push_back(fmt::format("{} more left out; offset={} shows the next",
                                          result_.left_out, first_left_out_));
    }
    if (unread_ > 0) {
      result_.notes.push_back(fmt::format("{} files not searched: {}{}", unread_, first_unread_,
                                          unread_ > 1 ? "; ..." : ""));
    }
  }

 private:
  /// Searches a text. The mode files_with_matches stops at the first line.
  void Content(const std::string& path, const std::string& text) {
    const bool all = result_.mode != Mode::kFiles;
    const std::size_t most = result_.mode == Mode::kContent ? kMostKept : 0;
    if (!all) {
      if (pattern_.Find(text, 0) && !FindLines(text, pattern_, 1).lines.empty()) Entry(path, 1);
      return;
    }
    const LineMatches matches = FindLines(text, pattern_, most);
    if (matches.total == 0) return;
    if (result_.mode == Mode::kCount) return Entry(path, matches.total);
    Lines(path, text, matches);
  }

  /// Returns whether the next match is one that the caller wants.
  bool Wanted() {
    ++result_.total;
    if (skip_ > 0) {
      --skip_;
      return false;
    }
    if (left_ > 0 && !budget_.spent()) return true;
    LeftOut(1);
    return false;
  }
  /// Remembers the number of the first result that is left out: the note names it as the next
  /// offset.
  void LeftOut(std::int64_t count) {
    if (result_.left_out == 0) first_left_out_ = result_.total - 1;
    result_.left_out += count;
  }

  /// Adds a file to the answer of the modes without lines.
  void Entry(const std::string& path, std::int64_t count) {
    if (!Wanted()) return;
    if (!budget_.Take(path.size() + std::to_string(count).size() + 2)) return LeftOut(1);
    --left_;
    result_.files.push_back({.path = path, .count = count});
  }

  /// Adds the lines of a file, with the lines around them, as far as the budget allows.
  void Lines(const std::string& path, std::string_view text, const LineMatches& matches) {
    std::vector<TextLine> wanted;
    for (const TextLine& line : matches.lines) {
      if (!Wanted()) continue;
      --left_;
      wanted.push_back(line);
      // The lines around it are charged when they are added.
      if (!budget_.Take(Cost(path, line))) {
        wanted.pop_back();
        LeftOut(1);
      }
    }
    const auto not_kept = matches.total - static_cast<std::int64_t>(matches.lines.size());
    result_.total += not_kept;
    if (not_kept > 0) LeftOut(not_kept);
    if (wanted.empty()) return;
    FoundFile file{.path = path, .count = matches.total};
    for (const TextLine& line : WithContext(text, wanted, around_)) {
      if (!line.is_match && !budget_.Take(Cost(path, line))) continue;
      file.lines.push_back({line.number, Shortened(line.text), line.is_match});
    }
    result_.files.push_back(std::move(file));
  }

  /// Returns how much of the budget a line takes as text.
  std::size_t Cost(const std::string& path, const TextLine& line) const {
    const std::size_t name = result_.single_file ? 0 : path.size() + 1;
    // Before a match there may be the line "--".
    const std::size_t gap = line.is_match && result_.has_context ? 3 : 0;
    return gap + name + std::to_string(line.number).size() + 2 +
           std::min(line.text.size(), kLongestLine);
  }

  /// Cuts a long line, as in minified code, which would use up the budget alone.
  static std::string Shortened(std::string_view text) {
    if (text.size() <= kLongestLine) return std::string(text);
    return fmt::format("{} [... {} bytes left out]", text.substr(0, kLongestLine),
                       text.size() - kLongestLine);
  }

  const GrepPattern& pattern_;
  const Around around_;
  std::int64_t skip_;
  std::int64_t left_;
  Budget budget_;
  GrepResult& result_;
  std::int64_t first_left_out_ = 0;
  std::int64_t unread_ = 0;
  std::string first_unread_;
};

/// Searches all files below a directory.
Status SearchTree(const Context& context, const GrepArguments& arguments, const WorkspaceCall& call,
                  const SearchScope& scope, Search& search, GrepResult& result) {
  POLYBOX_ASSIGN_OR_RETURN(const Filter filter, FilterOf(arguments));
  workspace::FileWalkOptions options = WalkOptionsFor(context);
  if (arguments.include_ignored) options.ignored = workspace::Ignored::kInclude;
  const std::size_t prefix = scope.place.IsRoot() ? 0 : scope.place.path.size() + 1;
  const auto visit = [&](const workspace::FileWalkEntry& entry) {
    if (!S_ISREG(entry.info.st_mode) || !filter.Admits(entry.path, prefix)) {
      return workspace::Next::kContinue;
    }
    const Result<UniqueFd> file = sys::OpenBeneath(entry.directory, entry.name, O_RDONLY);
    struct stat info{};
    if (!file.ok() || ::fstat(file->get(), &info) != 0) {
      search.Unread(entry.path, "cannot be opened");
    } else if (S_ISREG(info.st_mode)) {
      search.File(entry.path, file->get(), info);
    }
    return workspace::Next::kContinue;
  };
  POLYBOX_ASSIGN_OR_RETURN(
      const workspace::FileWalkReport report,
      workspace::WalkFiles(call.workspace().root(), scope.place, options, visit));
  NoteWalk(report, result.notes);
  return {};
}

Result<GrepResult> Grep(const Context& context, const GrepArguments& arguments) {
  if (arguments.pattern.empty()) return Error(ErrorKind::kInvalid, "pattern is required");
  GrepResult result;
  POLYBOX_ASSIGN_OR_RETURN(result.mode, ModeOf(arguments.output_mode));
  POLYBOX_ASSIGN_OR_RETURN(const WorkspaceCall call, WorkspaceCall::Begin(context, Purpose::kRead));
  POLYBOX_ASSIGN_OR_RETURN(const SearchScope scope, FindScope(call, arguments.path));
  Result<GrepPattern> pattern = GrepPattern::Compile(
      arguments.pattern, arguments.case_insensitive ? Case::kIgnored : Case::kMatters,
      arguments.multiline ? Reach::kLines : Reach::kLine);
  if (!pattern.ok()) return std::move(pattern).error().In("grep");
  result.single_file = !scope.IsDirectory();
  Search search(context, arguments, *pattern, result);
  if (result.single_file) {
    POLYBOX_ASSIGN_OR_RETURN(const OpenFile file, OpenPlainFile(call, arguments.path));
    search.File(file.place.path, file.fd.get(), file.info);
    if (result.binary_files > 0) result.notes.emplace_back("a binary file, not searched");
  } else {
    POLYBOX_RETURN_IF_ERROR(SearchTree(context, arguments, call, scope, search, result));
  }
  search.Finish();
  return result;
}

}  // namespace

Tool GrepTool() {
  return MakeTool<GrepArguments, GrepResult>(
      {.name = "Grep",
       .title = "Search in files",
       .description = "Shows the lines that a regular expression matches, sorted by path. Hidden "
                      "files are searched; binary files, .git and what .gitignore names are not.",
       .group = "core",
       .annotations =
           {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
      Grep);
}

}  // namespace polybox::tools
