#include "workspace/file_walk.h"

#include <algorithm>
#include <fcntl.h>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "workspace/ignore_rules.h"
#include "workspace/system_text.h"

namespace polybox::workspace {
namespace {

/// The ignore files of a directory, the stronger one first.
constexpr const char* kSearchIgnoreFile = ".ignore";
constexpr const char* kGitIgnoreFile = ".gitignore";
constexpr const char* kExcludeFile = ".git/info/exclude";
/// The directory or file of a repository.
constexpr std::string_view kRepository = ".git";
/// Larger than any ignore file; the whole file is held in memory.
constexpr Bytes kLargestIgnoreFile = Bytes::MiB(1);

/// Returns no rules if there is no such plain file.
IgnoreRules ReadRules(int directory, const std::string& name) {
  const Result<UniqueFd> file = sys::OpenBeneath(directory, name, O_RDONLY);
  struct stat info{};
  if (!file.ok() || ::fstat(file->get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  return IgnoreRules::Parse(ReadAll(file->get(), kLargestIgnoreFile).value_or(""));
}

/// The rules of all directories from the root to the present one.
class RuleStack {
 public:
  explicit RuleStack(IgnoreFiles files) : files_(files) {}

  /// Adds the rules of a directory. `path` is "" for the root.
  void Enter(const std::string& path, int directory) {
    Level level{path.empty() ? "" : path + "/", {}};
    const bool all = files_ == IgnoreFiles::kAll;
    if (all) level.files.push_back(ReadRules(directory, kSearchIgnoreFile));
    level.files.push_back(ReadRules(directory, kGitIgnoreFile));
    if (all || path.empty()) level.files.push_back(ReadRules(directory, kExcludeFile));
    std::erase_if(level.files, [](const IgnoreRules& rules) { return rules.empty(); });
    levels_.push_back(std::move(level));
  }

  /// Removes the rules of directories that do not contain `path`.
  void LeaveTo(std::string_view path) {
    while (!levels_.empty() && !path.starts_with(levels_.back().prefix)) levels_.pop_back();
  }

  bool Ignores(std::string_view path, EntryKind kind) const {
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      for (const IgnoreRules& rules : level->files) {
        const auto verdict = rules.Judge(path.substr(level->prefix.size()), kind);
        if (verdict) return *verdict == Verdict::kIgnored;
      }
    }
    return false;
  }

 private:
  struct Level {
    /// The path of the directory with a slash at the end; "" for the root.
    std::string prefix;
    std::vector<IgnoreRules> files;
  };
  const IgnoreFiles files_;
  std::vector<Level> levels_;
};

class FileWalk {
 public:
  FileWalk(const FileWalkOptions& options, const std::function<Next(const FileWalkEntry&)>& visit,
           const Place& start)
      : options_(options),
        visit_(visit),
        prefix_(start.IsRoot() ? "" : start.path + "/"),
        in_repository_(std::ranges::count(SplitPath(start.path), kRepository) > 0),
        rules_(options.rules) {}

  /// Adds the rules of the directories above the start, and of the start.
  void EnterStart(const Root& root, const Place& start, int directory) {
    if (options_.ignored == Ignored::kInclude) return;
    std::string path;
    for (const std::string_view name : SplitPath(start.path)) {
      const Result<UniqueFd> above =
          path.empty() ? sys::OpenBeneath(root.directory, ".", O_RDONLY | O_DIRECTORY)
                       : sys::OpenBeneath(root.directory, path, O_RDONLY | O_DIRECTORY);
      if (above.ok()) rules_.Enter(path, above->get());
      if (!path.empty()) path += '/';
      path += name;
    }
    rules_.Enter(start.path, directory);
  }

  Result<FileWalkReport> Run(int directory) {
    const sys::TreeVisitor visitor = {
        .entry = [this](const sys::TreeEntry& entry) { return Visit(entry); },
        .skipped = [this](const std::string& path,
                          std::string_view why) { return Skipped(path, why); },
        .enters = [this](const sys::TreeEntry& entry) { return Enters(entry); },
    };
    const Status done = sys::WalkGuestTree(
        directory, {.depth = options_.depth, .entries = options_.entries}, visitor);
    if (!done.ok() && report_.end == WalkEnd::kComplete) return done.error();
    return std::move(report_);
  }

 private:
  /// Ends the walk: WalkGuestTree() returns the error, and Run() knows the reason.
  Status End(WalkEnd end) {
    report_.end = end;
    return Error(ErrorKind::kInvalid, "the walk has ended");
  }

  bool IsIgnored(const std::string& path, const sys::TreeEntry& entry) const {
    if (entry.name == kRepository && !in_repository_) return true;
    const EntryKind kind = S_ISDIR(entry.info.st_mode) ? EntryKind::kDirectory : EntryKind::kOther;
    return options_.ignored != Ignored::kInclude && rules_.Ignores(path, kind);
  }

  Status Visit(const sys::TreeEntry& entry) {
    if (options_.stop.stop_requested()) return End(WalkEnd::kStopped);
    if (std::chrono::steady_clock::now() > options_.deadline) return End(WalkEnd::kDeadline);
    std::string path = prefix_ + entry.path;
    rules_.LeaveTo(path);
    const bool hidden = options_.hidden == Hidden::kSkip && entry.name.starts_with('.');
    stays_out_ = hidden || IsIgnored(path, entry);
    if (hidden || (stays_out_ && options_.ignored != Ignored::kShow)) return {};
    const Next next = visit_({std::move(path), entry.directory, entry.name, entry.info});
    stays_out_ |= next == Next::kSkip;
    return next == Next::kEnd ? End(WalkEnd::kVisitor) : Status();
  }

  /// Comes directly after Visit() of the same directory.
  bool Enters(const sys::TreeEntry& entry) {
    if (stays_out_) return false;
    if (options_.ignored == Ignored::kInclude) return true;
    const Result<UniqueFd> directory =
        sys::OpenBeneath(entry.directory, entry.name, O_RDONLY | O_DIRECTORY);
    if (directory.ok()) rules_.Enter(prefix_ + entry.path, directory->get());
    return true;
  }

  Status Skipped(const std::string& path, std::string_view why) {
    // The walk was asked for this depth.
    if (why == "too deep" && options_.depth < FileWalkOptions().depth) return {};
    ++report_.unread_count;
    if (report_.unread.size() < FileWalkReport::kMostUnread) {
      report_.unread.push_back(fmt::format("{}{}: {}", prefix_, path, why));
    }
    return {};
  }

  const FileWalkOptions& options_;
  const std::function<Next(const FileWalkEntry&)>& visit_;
  const std::string prefix_;
  /// Whether the start is inside a repository's own directory.
  const bool in_repository_;
  RuleStack rules_;
  /// Whether the walk does not enter the last entry of Visit().
  bool stays_out_ = false;
  FileWalkReport report_;
};

}  // namespace

Result<FileWalkReport> WalkFiles(const Root& root, const Place& start,
                                 const FileWalkOptions& options,
                                 const std::function<Next(const FileWalkEntry&)>& visit) {
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd directory, OpenAt(start, O_RDONLY | O_DIRECTORY));
  FileWalk walk(options, visit, start);
  walk.EnterStart(root, start, directory.get());
  return walk.Run(directory.get());
}

}  // namespace polybox::workspace
