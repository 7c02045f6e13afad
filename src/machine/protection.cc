#include "machine/protection.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <utility>

#include <fmt/format.h>

#include "base/printable.h"
#include "machine/named_files.h"
#include "workspace/move_aside.h"
#include "workspace/remove_entry.h"

namespace polybox::machine {
namespace {

using std::chrono::milliseconds;

/// How long the watch thread lets changes gather, so that a build is not slowed down.
constexpr milliseconds kGather{20};
/// How often the watch thread looks whether processes still run.
constexpr milliseconds kPeriod{250};
/// How often it looks where that is a look at all directories or at all copies.
constexpr milliseconds kLongPeriod{2000};
/// An answer is not a log.
constexpr std::size_t kMostViolations = 64;
/// A command that makes more protected files than this is not one that sets up repositories. They
/// need not wait for the grace time, and do not take the memory of the server.
constexpr std::size_t kMostPending = 1000;

/// Answers have room for many paths, and a command chooses their names.
constexpr std::size_t kShownPath = 200;

std::string Because(const workspace::ProtectionRules::Rule& rule) {
  return "protected, because " + Printable(rule.reason, 2 * kShownPath);
}

}  // namespace

Protection::Protection(std::shared_ptr<jail::Lease> lease, ProtectionOptions options,
                       ProtectedTrees trees)
    : lease_(std::move(lease)),
      options_(std::move(options)),
      trees_(std::move(trees)),
      copies_(options_.trees, options_.workspace.owner()) {}

Result<std::unique_ptr<Protection>> Protection::Make(std::shared_ptr<jail::Lease> lease,
                                                     ProtectionOptions options) {
  POLYBOX_ASSIGN_OR_RETURN(ProtectedTrees trees,
                           ProtectedTrees::Make(options.trees, options.workspace.protection()));
  std::unique_ptr<Protection> protection(
      new Protection(std::move(lease), std::move(options), std::move(trees)));
  protection->watcher_ =
      std::jthread([self = protection.get()](const std::stop_token& stop) { self->Watch(stop); });
  return protection;
}

Protection::~Protection() {
  watcher_.request_stop();
  if (watcher_.joinable()) watcher_.join();
}

Status Protection::BeforeStart() {
  const std::lock_guard lock(mutex_);
  const bool busy = IsBusy();
  if (commands_ran_) {
    Judge();
    TakeBack(busy ? Young::kWait : Young::kTakeBack);
  }
  commands_ran_ = true;
  ++starting_;
  wakes_.notify_all();
  if (!busy) return AcceptAll();
  // With the report, files of commands are protected from the next command on.
  return unguarded_ ? GuardKnown() : Status();
}

void Protection::AfterStart() {
  const std::lock_guard lock(mutex_);
  --starting_;
}

std::vector<Violation> Protection::Take() {
  const std::lock_guard lock(mutex_);
  if (commands_ran_) {
    // A process that ends between the two calls may have made files after the look.
    const bool busy = IsBusy();
    Judge();
    TakeBack(Young::kTakeBack);
    commands_ran_ = busy;
  }
  NoteWhatIsMissing();
  return std::exchange(violations_, {});
}

void Protection::NoteWhatIsMissing() {
  if (const std::size_t count = std::exchange(unlisted_, 0)) {
    violations_.push_back(
        {.kind = Violation::Kind::kWrite,
         .source = Violation::Source::kObserved,
         .subject = "",
         .what = fmt::format("{} more changes of protected files are not listed", count),
         .fix = kUsualFix});
  }
  if (trees_.is_complete() || std::exchange(told_incomplete_, true)) return;
  violations_.push_back(
      {.kind = Violation::Kind::kWrite,
       .source = Violation::Source::kObserved,
       .subject = "",
       .what = fmt::format("the workspace has too many directories or protected files to look at "
                           "all of them ({} directories are); new files that programs outside of "
                           "the jail execute or trust can stay in the others",
                           workspace::kMostDirectories),
       .fix = "Remove directories that are not needed"});
}

Status Protection::AcceptAll() {
  // What a protected file names can itself name others, and files can be replaced meanwhile.
  constexpr int kMostRounds = 8;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<Difference> differences = trees_.Look();
    for (const Difference& difference : differences) {
      if (difference.kind != Difference::Kind::kGone) trees_.Know(difference);
      sealed_.erase(difference.place);
      copies_.Forget(difference.place);
    }
    unguarded_ |= !differences.empty();
    const bool has_new_names = !differences.empty() && FindNamed();
    if (has_new_names) {
      trees_.LookAtAll();
      continue;
    }
    // The user may have changed the content of a file that is guarded by a copy.
    if (unguarded_ || !copies_.empty()) POLYBOX_RETURN_IF_ERROR(GuardKnown());
    unguarded_ = trees_.looks_at_all();
    if (!unguarded_) return {};
  }
  return {};
}

bool Protection::FindNamed() {
  NamedFiles named = FindNamedFiles(trees_);
  bool changed = false;
  for (std::size_t tree = 0; tree < trees_.trees().size(); ++tree) {
    changed |= trees_.rules(tree).Name(std::move(named[tree]));
  }
  return changed;
}

Status Protection::GuardKnown() {
  if (options_.guard == Guard::kSeals) return SealKnown();
  for (const auto& [place, file] : trees_.known()) {
    // What matters below a directory of which only itself is protected is known on its own.
    const bool itself = file.rule.extent == workspace::ProtectedPath::Extent::kItself;
    if (!itself || !S_ISDIR(file.info.st_mode)) copies_.Keep(place);
  }
  return {};
}

Status Protection::SealKnown() {
  std::vector<TreePath> places;
  std::vector<jail::SealedPath> seals;
  for (const auto& [place, file] : trees_.known()) {
    const bool is_directory = S_ISDIR(file.info.st_mode);
    const bool in_place = file.rule.extent == workspace::ProtectedPath::Extent::kItself;
    places.push_back(place);
    seals.push_back({trees_.trees()[place.tree].path + "/" + place.path, file.info.st_dev,
                     file.info.st_ino, is_directory && in_place});
  }
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<int> errors, lease_->Seal(seals));
  for (std::size_t i = 0; i < places.size(); ++i) {
    // Between the look and the seal the file was replaced, which is another change to look at.
    if (errors[i] == ESTALE || errors[i] == ENOENT) {
      trees_.LookAtAll();
      continue;
    }
    const auto& info = trees_.known().at(places[i]).info;
    const bool is_sealed = errors[i] == 0;
    if (is_sealed) sealed_.insert(places[i]);
    // Another hard link is another way to the content.
    const bool has_links = !S_ISDIR(info.st_mode) && info.st_nlink > 1;
    if (!is_sealed || has_links) copies_.Keep(places[i]);
  }
  return {};
}

void Protection::Judge() {
  // A file that was moved or replaced from outside has lost its seal.
  bool seal_again = false;
  for (const Difference& difference : trees_.Look()) {
    JudgeOne(difference);
    seal_again |= difference.kind != Difference::Kind::kAppeared;
  }
  if (seal_again && options_.guard == Guard::kSeals) (void)SealKnown();
}

void Protection::JudgeOne(const Difference& difference) {
  const bool seals = options_.guard == Guard::kSeals;
  const bool was_sealed = sealed_.contains(difference.place);
  switch (difference.kind) {
    case Difference::Kind::kGone:
      sealed_.erase(difference.place);
      pending_.erase(difference.place);
      return;
    case Difference::Kind::kMoved:
      if (seals) return trees_.Know(difference);
      break;
    case Difference::Kind::kReplaced:
      // No command can replace a sealed file, so the user has.
      if (seals && was_sealed) return trees_.Know(difference);
      break;
    case Difference::Kind::kAppeared:
      sealed_.erase(difference.place);
      break;
  }
  // KeptCopies puts back what it has a copy of.
  if (!seals && copies_.Has(difference.place)) return;
  pending_.try_emplace(difference.place, Clock::now());
}

void Protection::TakeBack(Young young) {
  const Clock::time_point due = Clock::now() - options_.grace;
  const bool all = young == Young::kTakeBack || pending_.size() > kMostPending;
  std::vector<TreePath> taken;
  for (const auto& [place, since] : pending_) {
    if (all || since <= due || taken_.contains(place)) taken.push_back(place);
  }
  for (const TreePath& place : taken) {
    pending_.erase(place);
    TakeBackOne(place);
  }
  // To compare copies is to read them all.
  if (young == Young::kWait && Clock::now() < last_restore_ + kLongPeriod) return;
  last_restore_ = Clock::now();
  for (const Damage& damage : copies_.Restore()) {
    Report(damage);
    trees_.LookAtAll();
  }
}

void Protection::TakeBackOne(const TreePath& place) {
  std::optional<workspace::ProtectedFile> file = trees_.At(place);
  if (!file) return;
  const std::string shown = Shown(place);
  const std::string made =
      fmt::format("a command has made {}, which is {}", shown, Because(file->rule));
  if (options_.workspace.created() == workspace::CreatedFiles::kReport) {
    trees_.Know({Difference::Kind::kAppeared, place, std::move(*file)});
    unguarded_ = true;
    return Note(place, made);
  }
  if (taken_.size() >= kMostPending) taken_.clear();
  taken_.insert(place);
  const int root = trees_.trees()[place.tree].directory;
  const Result<std::string> aside =
      workspace::MoveAside(root, place.path, options_.workspace.owner());
  if (aside.ok()) {
    return Note(place, fmt::format("{}; it was moved to {}", made, Shown({place.tree, *aside})));
  }
  const int error = aside.error().system_errno();
  if (error == ENOENT) return;
  const Status removed = error == EMFILE ? Remove(place) : Status(aside.error());
  Note(place, removed.ok() ? fmt::format("{}; it was removed, because {} such files were moved "
                                         "aside before",
                                         made, workspace::kMostAside)
                           : fmt::format("{}; it could not be moved aside: {}", made,
                                         removed.error().message()));
}

Status Protection::Remove(const TreePath& place) const {
  const workspace::Workspace& workspace = options_.workspace;
  POLYBOX_ASSIGN_OR_RETURN(const workspace::ActAsOwner acting,
                           workspace::ActAsOwner::Begin(workspace.owner()));
  const GuardedTree& tree = trees_.trees()[place.tree];
  POLYBOX_ASSIGN_OR_RETURN(
      const workspace::Place found,
      workspace::Resolve({tree.directory, tree.path, tree.path}, tree.path + "/" + place.path,
                         workspace::LastLink::kKeep));
  const auto removed = workspace::RemoveTree(found, [](const std::string&) { return Status(); });
  return removed.ok() ? Status() : Status(removed.error());
}

void Protection::Report(const Damage& damage) {
  const std::string shown = Shown(damage.place);
  std::string what = fmt::format(
      "{} is protected, and cannot be read-only here. A command has {} "
      "it",
      shown,
      damage.kind == Damage::Kind::kRemoved   ? "removed"
      : damage.kind == Damage::Kind::kChanged ? "changed"
                                              : "made");
  if (!damage.aside.empty()) {
    what += fmt::format("; the file of the command is now {}",
                        Shown({damage.place.tree, damage.aside}));
  }
  if (!damage.restored.ok()) {
    what += fmt::format("; it could not be put back: {}", damage.restored.error().message());
  } else if (damage.kind != Damage::Kind::kAdded) {
    what += "; the earlier content was put back";
  }
  Note(damage.place, std::move(what));
}

void Protection::Note(const TreePath& place, std::string what, std::string fix) {
  if (violations_.size() >= kMostViolations) {
    ++unlisted_;
    return;
  }
  violations_.push_back({.kind = Violation::Kind::kWrite,
                         .source = Violation::Source::kObserved,
                         .subject = Shown(place),
                         .what = std::move(what),
                         .fix = std::move(fix)});
}

std::string Protection::Shown(const TreePath& place) const {
  const std::string& path = place.path;
  return Printable(place.tree == 0 ? path : options_.trees[place.tree].path + "/" + path,
                   kShownPath);
}

void Protection::Watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (wakes_.wait(lock, stop, [&] { return commands_ran_; }) && !stop.stop_requested()) {
    const bool watching = trees_.is_watching();
    const int fd = trees_.fd();
    lock.unlock();
    pollfd polled = {watching ? fd : -1, POLLIN, 0};
    const milliseconds most = watching ? kPeriod : kLongPeriod;
    ::poll(&polled, 1, static_cast<int>(most.count()));
    lock.lock();
    // Lets changes gather; the end of the object does not have to wait for that.
    wakes_.wait_for(lock, stop, kGather, [] { return false; });
    if (stop.stop_requested() || !commands_ran_) continue;
    const bool busy = IsBusy();
    Judge();
    TakeBack(busy ? Young::kWait : Young::kTakeBack);
    commands_ran_ = busy;
  }
}

}  // namespace polybox::machine
