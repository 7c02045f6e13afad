#include "machine/protected_trees.h"

#include <utility>

namespace polybox::machine {
namespace {

using workspace::ProtectedFile;

/// A program that makes directories all the time would keep a look from ending.
constexpr int kMostRounds = 16;
/// Each restart is a scan of everything.
constexpr int kMostRestarts = 2;
/// What a look keeps of changes. With more of them, a scan of everything is cheaper.
constexpr std::size_t kMostChanges = 20'000;
/// Far more than projects have. A command can make any number.
constexpr std::size_t kMostFound = 20'000;
constexpr std::size_t kMostUnread = 1'000;

std::string Join(const std::string& directory, std::string_view name) {
  return directory.empty() ? std::string(name) : directory + "/" + std::string(name);
}

}  // namespace

ProtectedTrees::ProtectedTrees(std::vector<GuardedTree> trees,
                               const workspace::ProtectedPaths& paths, ChangeFeed feed)
    : trees_(std::move(trees)), feed_(std::move(feed)) {
  for (const GuardedTree& tree : trees_) rules_.emplace_back(paths, tree.prefix);
}

Result<ProtectedTrees> ProtectedTrees::Make(std::vector<GuardedTree> trees,
                                            const workspace::ProtectedPaths& paths) {
  POLYBOX_ASSIGN_OR_RETURN(ChangeFeed feed, ChangeFeed::Make());
  return ProtectedTrees(std::move(trees), paths, std::move(feed));
}

std::vector<Difference> ProtectedTrees::Look() {
  Findings findings;
  ReadChanges(findings);
  if (std::exchange(all_, false) || !watching_) StartOver(findings);
  for (const TreePath& place : std::exchange(unread_, {})) findings.scans.insert(place);
  for (int round = 0; round < kMostRounds && !findings.scans.empty(); ++round) {
    for (const TreePath& start : std::exchange(findings.scans, {})) Scan(start, findings);
    // What appeared in a directory before it was watched is in the scan, and what appeared later
    // is among the changes.
    ReadChanges(findings);
  }
  for (const TreePath& start : findings.scans) LookAgainAt(start);
  for (const TreePath& place : findings.touched) {
    findings.found.erase(place);
    std::optional<ProtectedFile> file = At(place);
    if (file) findings.found.emplace(place, std::move(*file));
  }
  return Compare(findings);
}

void ProtectedTrees::ReadChanges(Findings& findings) {
  bool has_room = true;
  const bool complete = feed_.Read([&](const Change& change) {
    has_room &= findings.touched.size() + findings.scans.size() < kMostChanges;
    if (has_room) Note(change, findings);
  });
  if (!complete || !has_room) StartOver(findings);
}

void ProtectedTrees::LookAgainAt(const TreePath& place) {
  const bool has_room = unread_.size() < kMostUnread;
  complete_ &= has_room;
  if (has_room) unread_.insert(place);
}

void ProtectedTrees::Note(const Change& change, Findings& findings) {
  const auto& rules = rules_[change.directory.tree];
  const bool appeared = change.kind == Change::Kind::kAppeared;
  // Any name can be that of a symbolic link that leads to protected files.
  if (!change.is_directory && !appeared && !rules.CouldEndWith(change.name)) return;
  if (change.kind == Change::Kind::kWritten) return;
  TreePath place = {change.directory.tree, Join(change.directory.path, change.name)};
  if (change.kind == Change::Kind::kGone && change.is_directory) {
    feed_.Forget(place);
    TouchBelow(place, findings);
  }
  const bool protects_all = [&] {
    const auto rule = rules.Find(place.path);
    return rule && rule->extent == workspace::ProtectedPath::Extent::kWithContents;
  }();
  const bool may_have_more = appeared || change.kind == Change::Kind::kAttributes;
  if (change.is_directory && may_have_more && !protects_all) findings.scans.insert(place);
  findings.touched.insert(std::move(place));
}

void ProtectedTrees::TouchBelow(const TreePath& place, Findings& findings) const {
  const std::string below = place.path + "/";
  for (auto at = known_.lower_bound(place); at != known_.end(); ++at) {
    const auto& [tree, path] = at->first;
    const bool inside = path == place.path || path.starts_with(below) || place.path.empty();
    // Names with characters below the slash come between a directory and its content.
    if (tree != place.tree || (!inside && path > below + "\xff")) break;
    if (inside) findings.touched.insert(at->first);
  }
}

void ProtectedTrees::StartOver(Findings& findings) {
  findings.scans.clear();
  if (++findings.restarts > kMostRestarts) {
    // The next look goes on.
    all_ = true;
    return;
  }
  feed_.ForgetAll();
  watching_ = true;
  complete_ = true;
  for (std::size_t tree = 0; tree < trees_.size(); ++tree) findings.scans.insert({tree, ""});
  for (const auto& [place, file] : known_) findings.touched.insert(place);
}

void ProtectedTrees::Scan(const TreePath& start, Findings& findings) {
  const std::size_t tree = start.tree;
  const workspace::ScanVisitor visitor = {
      .found =
          [&](ProtectedFile file) {
            TreePath place = {tree, file.path};
            const bool has_room = findings.found.size() < kMostFound || known_.contains(place);
            complete_ &= has_room;
            if (has_room) findings.found.insert_or_assign(std::move(place), std::move(file));
          },
      .enters = [&](const std::string& path,
                    int fd) { watching_ = watching_ && feed_.Watch(fd, {tree, path}); },
      .unread = [&](const std::string& path) { LookAgainAt({tree, path}); },
      .incomplete = [&] { complete_ = false; }};
  workspace::ScanProtected(trees_[tree].directory, start.path, rules_[tree], visitor);
}

std::optional<ProtectedFile> ProtectedTrees::At(const TreePath& place) const {
  std::optional<ProtectedFile> at;
  workspace::LookAtProtected(trees_[place.tree].directory, place.path, rules_[place.tree],
                             [&](ProtectedFile file) { at = std::move(file); });
  return at;
}

std::vector<Difference> ProtectedTrees::Compare(const Findings& findings) {
  const auto id = [](const ProtectedFile& file) {
    return FileId{file.info.st_dev, file.info.st_ino};
  };
  std::vector<Difference> differences;
  std::set<FileId> before;
  std::set<FileId> now;
  for (const auto& [place, file] : findings.found) now.insert(id(file));
  for (const TreePath& place : findings.touched) {
    const auto known = known_.find(place);
    if (known == known_.end()) continue;
    before.insert(id(known->second));
    if (findings.found.contains(place)) continue;
    differences.push_back({Difference::Kind::kGone, place, {place.path, known->second.rule}});
    known_.erase(known);
  }
  for (const auto& [place, file] : findings.found) {
    const auto known = known_.find(place);
    auto kind = before.contains(id(file)) ? Difference::Kind::kMoved : Difference::Kind::kAppeared;
    if (known != known_.end()) {
      if (id(known->second) == id(file)) continue;
      const bool elsewhere = now.contains(id(known->second));
      if (!elsewhere) kind = Difference::Kind::kReplaced;
      known_.erase(known);
    }
    differences.push_back({kind, place, file});
  }
  return differences;
}

void ProtectedTrees::Know(const Difference& difference) {
  known_.insert_or_assign(difference.place, difference.file);
}

}  // namespace polybox::machine
