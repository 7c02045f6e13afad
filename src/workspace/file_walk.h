// Visits the files of a workspace in a fixed order, for searching and listing. Skips what the
// ignore files of the project name, and the repository's own directory. Follows no link, enters no
// other file system, and is bounded in depth, entries and time. Any thread.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "sys/guest_tree.h"
#include "workspace/resolve.h"

namespace polybox::workspace {

/// Which entries the walk leaves out.
enum class Ignored {
  kSkip,     ///< Those that .gitignore, .ignore and .git/info/exclude name.
  kShow,     ///< What is below those. They themselves are visited.
  kInclude,  ///< None of these.
};
enum class Hidden { kSkip, kInclude };
/// Which files' rules hold.
enum class IgnoreFiles {
  kAll,    ///< Those of search tools too.
  kOfGit,  ///< .gitignore of each directory, .git/info/exclude of the root.
};

struct FileWalkOptions {
  Ignored ignored = Ignored::kSkip;
  Hidden hidden = Hidden::kInclude;
  IgnoreFiles rules = IgnoreFiles::kAll;
  /// How many levels below the start are visited. The walk holds a descriptor for each.
  int depth = 64;
  /// A project with its dependencies has some hundred thousand entries.
  std::size_t entries = 2'000'000;
  std::stop_token stop = {};
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

struct FileWalkEntry {
  /// The path from the root of the workspace.
  std::string path;
  /// The directory of the entry (borrowed), and the name in it.
  int directory;
  const std::string& name;
  const struct stat& info;
};

enum class WalkEnd { kComplete, kStopped, kDeadline, kVisitor };

struct FileWalkReport {
  WalkEnd end = WalkEnd::kComplete;
  /// Directories that could not be read: "sub: permission denied". At most kMostUnread.
  std::vector<std::string> unread;
  std::size_t unread_count = 0;

  static constexpr std::size_t kMostUnread = 20;
};

/// What the visitor wants next.
enum class Next {
  kContinue,
  kSkip,  ///< As kContinue, but not what is below this directory.
  kEnd,
};

/// Visits every entry below the directory at `start`, a directory before its entries, each
/// directory sorted by name. Ignore files of directories above the start hold too. Fails if the
/// start cannot be opened.
Result<FileWalkReport> WalkFiles(const Root& root, const Place& start,
                                 const FileWalkOptions& options,
                                 const std::function<Next(const FileWalkEntry&)>& visit);

}  // namespace polybox::workspace
