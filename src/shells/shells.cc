#include "shells/shells.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/printable.h"

namespace polybox::shells {
namespace {

/// Handles whose expiry is remembered, for a message that says so.
constexpr std::size_t kMostExpired = 4096;
constexpr std::size_t kMostOwners = 4096;
constexpr std::size_t kShownId = 80;

}  // namespace

Shells::Shells(ShellsOptions options)
    : options_(std::move(options)), quota_(options_.output_quota) {}

Status Shells::Admit(const Owner& owner, Place place) {
  const std::lock_guard lock(mutex_);
  std::size_t running = starting_;
  std::string oldest;
  for (const std::shared_ptr<Shell>& shell : shells_) {
    if (shell->options().owner.workspace != owner.workspace || !shell->IsAlive()) continue;
    ++running;
    if (oldest.empty() && shell->options().owner == owner) oldest = shell->id();
  }
  const std::size_t most =
      options_.running + (place == Place::kForeground ? options_.running_foreground : 0);
  if (running >= most) {
    return Error(ErrorKind::kUnavailable,
                 fmt::format("too many running shells: {} of the workspace run, {} may", running,
                             most))
        .WithFix("End some with KillShell" +
                 (oldest.empty() ? "" : "; the oldest is shell_id " + oldest));
  }
  ++starting_;
  return {};
}

Result<std::shared_ptr<Shell>> Shells::Start(machine::Machine& machine, ShellOptions options,
                                             Place place) {
  POLYBOX_RETURN_IF_ERROR(Admit(options.owner, place));
  std::call_once(directory_found_, [this] { directory_ = options_.find_directory(); });
  const std::string workspace = options.owner.workspace;
  Result<std::shared_ptr<Shell>> shell =
      Shell::Start(machine, std::move(options), {.directory = directory_, .quota = &quota_});
  std::vector<std::shared_ptr<Shell>> removed;
  const std::lock_guard lock(mutex_);
  --starting_;
  if (!shell.ok()) return shell;
  shells_.push_back(shell.value());
  removed = RemoveOldest(workspace);
  return shell;
}

std::vector<std::shared_ptr<Shell>> Shells::RemoveOldest(const std::string& workspace) {
  const auto counts = [&](const std::shared_ptr<Shell>& shell) {
    return shell->options().owner.workspace == workspace && !shell->IsAlive();
  };
  auto finished = static_cast<std::size_t>(std::ranges::count_if(shells_, counts));
  std::vector<std::shared_ptr<Shell>> removed;
  for (auto shell = shells_.begin(); shell != shells_.end() && finished > options_.finished;) {
    if (!counts(*shell)) {
      ++shell;
      continue;
    }
    expired_.push_back({(*shell)->options().owner, (*shell)->id()});
    removed.push_back(std::move(*shell));
    shell = shells_.erase(shell);
    --finished;
  }
  while (expired_.size() > kMostExpired) expired_.pop_front();
  return removed;
}

Result<std::shared_ptr<Shell>> Shells::Find(const Owner& owner, const std::string& id) {
  const std::lock_guard lock(mutex_);
  for (const std::shared_ptr<Shell>& shell : shells_) {
    if (shell->id() == id && shell->options().owner == owner) return shell;
  }
  Error unknown(ErrorKind::kNotFound, fmt::format("unknown shell_id: {}", Printable(id, kShownId)));
  const bool expired = std::ranges::any_of(
      expired_, [&](const Expired& each) { return each.id == id && each.owner == owner; });
  if (!expired) return unknown;
  return std::move(unknown).WithFix(
      fmt::format("It has expired: polybox keeps the last {} ended commands of a workspace",
                  options_.finished));
}

std::vector<std::shared_ptr<Shell>> Shells::List(const Owner& owner) {
  std::vector<std::shared_ptr<Shell>> own;
  const std::lock_guard lock(mutex_);
  std::ranges::copy_if(shells_, std::back_inserter(own), [&](const std::shared_ptr<Shell>& shell) {
    return shell->options().owner == owner;
  });
  return own;
}

void Shells::Forget(const std::shared_ptr<Shell>& shell) {
  const std::lock_guard lock(mutex_);
  // The caller holds the shell: it is not destroyed under the lock.
  std::erase(shells_, shell);
}

std::size_t Shells::Running() {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(shells_, [](const auto& shell) { return shell->IsAlive(); }));
}

bool Shells::IsFirst(const Owner& owner) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(asked_, owner) != asked_.end()) return false;
  if (asked_.size() < kMostOwners) asked_.push_back(owner);
  return true;
}

}  // namespace polybox::shells
