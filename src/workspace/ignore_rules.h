// The rules of .gitignore files, as git applies them. The last rule that fits decides, "!" takes a
// path back in, a slash in the middle binds a rule to the directory of its file. One object for
// each directory, immutable once made.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "workspace/glob_pattern.h"

namespace polybox::workspace {

enum class Verdict { kIgnored, kKept };
enum class EntryKind { kDirectory, kOther };

class IgnoreRules {
 public:
  /// Reads the lines of one file. A pattern that git could not use is skipped, as git does.
  static IgnoreRules Parse(std::string_view text);

  /// Returns what the rules say of `path`, which is relative to the directory of the file. Returns
  /// nothing if no rule fits.
  std::optional<Verdict> Judge(std::string_view path, EntryKind kind) const;
  bool empty() const { return rules_.empty(); }

 private:
  struct Rule {
    Glob glob;
    Verdict verdict = Verdict::kIgnored;
    bool only_directories = false;
    /// The rule is compared with the last component alone.
    bool name_only = false;
  };

  static std::optional<Rule> ParseLine(std::string_view line);

  std::vector<Rule> rules_;
};

}  // namespace polybox::workspace
