#include "machine/named_files.h"

#include <algorithm>
#include <cctype>
#include <fcntl.h>

#include "base/files.h"
#include "sys/guest_tree.h"
#include "workspace/resolve.h"

namespace polybox::machine {
namespace {

using workspace::ProtectedFile;

/// Larger than any configuration of git.
constexpr Bytes kLargestConfig = Bytes::MiB(1);

std::string Trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return "";
  return std::string(text.substr(from, text.find_last_not_of(" \t\r") - from + 1));
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Returns a value without quotes, escapes and the comment behind it.
std::string Unquoted(std::string_view text) {
  std::string value;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '#' || c == ';')) {
      break;
    } else {
      const bool escapes = c == '\\' && i + 1 < text.size();
      value += escapes ? text[++i] : c;
    }
  }
  return Trimmed(value);
}

/// Adds what protected files name to the trees in which it is.
class Finder {
 public:
  explicit Finder(const ProtectedTrees& trees) : trees_(trees), named_(trees.trees().size()) {}

  NamedFiles Find() {
    for (const auto& [place, file] : trees_.known()) {
      if (S_ISLNK(file.info.st_mode)) AddTarget(place, file.rule.reason);
      if (S_ISDIR(file.info.st_mode)) AddTargetsBelow(place, file);
      if (S_ISREG(file.info.st_mode)) AddFromConfig(place);
    }
    return std::move(named_);
  }

 private:
  const GuardedTree& TreeOf(const TreePath& place) const { return trees_.trees()[place.tree]; }
  std::string Absolute(const TreePath& place) const {
    return TreeOf(place).path + "/" + place.path;
  }

  /// Adds the file at the absolute path, without links in it, to the tree in which it is.
  void Add(const std::string& absolute, const std::string& reason) {
    for (std::size_t i = 0; i < trees_.trees().size(); ++i) {
      const GuardedTree& tree = trees_.trees()[i];
      if (!absolute.starts_with(tree.path + "/")) continue;
      const Result<workspace::Place> found =
          workspace::Resolve({tree.directory, tree.path, tree.path}, absolute);
      if (found.ok() && !found->IsRoot()) named_[i].try_emplace(found->path, reason);
      return;
    }
  }

  void AddTarget(const TreePath& link, const std::string& reason) {
    const GuardedTree& tree = TreeOf(link);
    const Result<workspace::Place> target =
        workspace::Resolve({tree.directory, tree.path, tree.path}, Absolute(link));
    if (!target.ok() || target->IsRoot()) return;
    named_[link.tree].try_emplace(target->path, link.path + " is a link to it, and " + reason);
  }

  void AddTargetsBelow(const TreePath& place, const ProtectedFile& file) {
    if (file.rule.extent == workspace::ProtectedPath::Extent::kItself) return;
    const Result<UniqueFd> directory =
        workspace::OpenInTree(TreeOf(place).directory, place.path, O_RDONLY | O_DIRECTORY);
    if (!directory.ok()) return;
    const sys::TreeVisitor visitor = {
        .entry = [&](const sys::TreeEntry& entry) -> Status {
          if (S_ISLNK(entry.info.st_mode)) {
            AddTarget({place.tree, place.path + "/" + entry.path}, file.rule.reason);
          }
          return {};
        },
        .skipped = [](const std::string&, std::string_view) { return Status(); }};
    constexpr std::size_t kMostEntries = 5000;
    (void)sys::WalkGuestTree(directory->get(), {.entries = kMostEntries}, visitor);
  }

  /// Every protected file of this kind could be a configuration of git, or be included by one.
  void AddFromConfig(const TreePath& place) {
    const GuardedTree& tree = TreeOf(place);
    const bool is_config =
        place.path.ends_with("config") || place.path.ends_with("config.worktree");
    if (!is_config && !WasNamed(place)) return;
    const Result<UniqueFd> file = workspace::OpenInTree(tree.directory, place.path, O_RDONLY);
    if (!file.ok()) return;
    const std::string text = ReadAll(file->get(), kLargestConfig).value_or("");
    for (const GitConfigPath& named : PathsInGitConfig(text)) {
      if (named.path.starts_with("~")) continue;
      // Git starts hooks in the root of the working tree.
      const std::string base = named.kind == GitConfigPath::Kind::kHooks
                                   ? WorkingTreeOf(place)
                                   : ParentOf(Absolute(place));
      const bool absolute = named.path.starts_with('/');
      Add(absolute ? named.path : base + "/" + named.path,
          "the git configuration in " + place.path + " names it");
    }
  }

  bool WasNamed(const TreePath& place) const {
    return trees_.rules(place.tree).named().contains(place.path);
  }

  static std::string ParentOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

  std::string WorkingTreeOf(const TreePath& place) const {
    const std::string absolute = Absolute(place);
    const std::size_t git = absolute.rfind("/.git/");
    const bool is_inside = place.tree == 0 && git != std::string::npos;
    return is_inside ? absolute.substr(0, git) : trees_.trees().front().path;
  }

  const ProtectedTrees& trees_;
  NamedFiles named_;
};

}  // namespace

std::vector<GitConfigPath> PathsInGitConfig(std::string_view text) {
  std::vector<GitConfigPath> paths;
  std::string section;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line = Trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('[')) {
      const std::size_t close = line.find(']');
      if (close == std::string::npos) continue;
      section = Lower(line.substr(1, line.find_first_of(" \t\"]") - 1));
      line = Trimmed(std::string_view(line).substr(close + 1));
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = section + "." + Lower(Trimmed(line.substr(0, equals)));
    const std::string value = Unquoted(std::string_view(line).substr(equals + 1));
    if (value.empty()) continue;
    if (key == "include.path" || key == "includeif.path") {
      paths.push_back({GitConfigPath::Kind::kInclude, value});
    } else if (key == "core.hookspath" || key == "core.attributesfile") {
      paths.push_back({GitConfigPath::Kind::kHooks, value});
    }
  }
  return paths;
}

NamedFiles FindNamedFiles(const ProtectedTrees& trees) {
  return Finder(trees).Find();
}

}  // namespace polybox::machine
