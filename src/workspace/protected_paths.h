// The paths of a workspace that programs outside the jail execute or trust: git hooks, settings of
// editors and agents. File tools refuse to change them. The list is policies/protected-paths.toml.
// Immutable once made; any thread.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded_file.h"
#include "base/result.h"
#include "workspace/glob_pattern.h"

namespace polybox::workspace {

/// Returns policies/protected-paths.toml, which is compiled in.
std::span<const EmbeddedFile> ProtectionFiles();

/// One row of the list.
struct ProtectedPath {
  enum class Where {
    kRoot,        ///< Only in the root of the workspace.
    kTree,        ///< In any directory, except below directories of dependencies.
    kEverywhere,  ///< In any directory.
  };
  enum class Extent {
    kWithContents,  ///< The path and all that is below it.
    kItself,        ///< Only the path.
  };

  std::string path;
  Where where = Where::kRoot;
  Extent extent = Extent::kWithContents;
  /// Which program would execute or trust the path.
  std::string reason;
};

class ProtectedPaths {
 public:
  /// Protects nothing.
  ProtectedPaths() = default;
  /// Reads a list. `origin` names the file in errors.
  static Result<ProtectedPaths> Parse(std::string_view toml, const std::string& origin);
  /// Returns what `setting` asks for. "default" is the built-in list, "off" protects nothing. Paths
  /// separated by commas are added to the built-in list; each is protected in any directory.
  static Result<ProtectedPaths> FromSetting(std::string_view setting);

  /// Returns the row that protects `path`; null if none does. `path` is relative to the root of the
  /// workspace, without links in it.
  const ProtectedPath* Find(std::string_view path) const;
  /// Returns a row that protects something below `path` and not `path` itself; null if none does. A
  /// symbolic link at such a path could lead programs to other files than the protected ones.
  const ProtectedPath* FindAbove(std::string_view path) const;
  /// Returns whether the path of a row can end with `name`. Where it returns false, Find() returns
  /// a row only for what is below a protected directory.
  bool CouldEndWith(std::string_view name) const;
  const std::vector<ProtectedPath>& rows() const { return rows_; }

 private:
  Status Add(ProtectedPath row);

  std::vector<ProtectedPath> rows_;
  /// For each row the pattern of its path, with "**/" in front if the row is for any directory.
  std::vector<Glob> patterns_;
  /// The last components of all rows, in lower case: those without and those with wildcards.
  std::set<std::string, std::less<>> last_names_;
  std::vector<Glob> last_patterns_;
  /// The path of a directory above that of a row, and the number of the row.
  struct Above {
    Glob pattern;
    std::size_t row = 0;
  };
  std::vector<Above> above_;
  /// In lower case.
  std::vector<std::string> dependency_directories_;
};

}  // namespace polybox::workspace
