// Which paths of one directory tree are protected: the rows of the list, and files that protected
// files name (the target of a link, the hooks of a git configuration). Any thread, but Name() only
// while no other thread uses the object.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "workspace/protected_paths.h"

namespace polybox::workspace {

class ProtectionRules {
 public:
  struct Rule {
    std::string reason;
    ProtectedPath::Extent extent = ProtectedPath::Extent::kWithContents;
  };

  /// `paths` must outlive this object. `prefix` stands before each path of the tree when it is
  /// compared: ".git" if the tree is the directory of a repository; "" for a workspace.
  ProtectionRules(const ProtectedPaths& paths, std::string prefix)
      : paths_(paths), prefix_(std::move(prefix)) {}

  /// Returns the rule for `path`, relative to the tree; nothing if the path is not protected.
  std::optional<Rule> Find(const std::string& path) const;
  /// The same for a symbolic link, which is also protected where it stands in for a directory that
  /// leads to protected files.
  std::optional<Rule> FindForLink(const std::string& path) const;
  /// Returns false if no path that ends with `name` has a rule of its own. Cheap.
  bool CouldEndWith(std::string_view name) const;

  /// Protects the paths that protected files name, each with its reason, in place of those of the
  /// last call. Returns whether they differ.
  bool Name(std::map<std::string, std::string> named);
  const std::map<std::string, std::string>& named() const { return named_; }

 private:
  const ProtectedPaths& paths_;
  const std::string prefix_;
  std::map<std::string, std::string> named_;
  std::set<std::string, std::less<>> last_names_;
};

}  // namespace polybox::workspace
