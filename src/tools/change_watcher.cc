#include "tools/change_watcher.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

namespace polybox::tools {

void ChangeWatcher::Signal::Raise() {
  if (is_dirty.exchange(true)) return;
  const std::uint64_t one = 1;
  (void)!::write(wake->get(), &one, sizeof one);
}

/// A watch that a subscriber holds.
class ChangeWatcher::Handle : public Watch {
 public:
  Handle(ChangeWatcher& watcher, std::uint64_t number, std::shared_ptr<Signal> signal)
      : watcher_(watcher),
        held_(watcher.weak_from_this()),
        thread_(watcher.thread_.get_id()),
        number_(number),
        signal_(std::move(signal)) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() override {
    if (const auto shell = shell_.lock()) shell->StopTelling(told_);
    // The watcher's destructor waits for its thread, so the watcher exists here.
    if (std::this_thread::get_id() == thread_) {
      watcher_.Remove(number_);
    } else if (const auto watcher = held_.lock()) {
      watcher->Remove(number_);
    }
  }

  void Follow(const std::shared_ptr<shells::Shell>& shell) {
    shell_ = shell;
    told_ = shell->TellChanges([signal = signal_] { signal->Raise(); });
  }

 private:
  ChangeWatcher& watcher_;
  const std::weak_ptr<ChangeWatcher> held_;
  const std::thread::id thread_;
  const std::uint64_t number_;
  const std::shared_ptr<Signal> signal_;
  std::weak_ptr<shells::Shell> shell_;
  std::uint64_t told_ = 0;
};

std::shared_ptr<ChangeWatcher> ChangeWatcher::Make(Duration pause) {
  return std::shared_ptr<ChangeWatcher>(new ChangeWatcher(pause));
}

ChangeWatcher::~ChangeWatcher() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  Signal(wake_).Raise();
}

Status ChangeWatcher::Start() {
  if (thread_.joinable()) return {};
  POLYBOX_ASSIGN_OR_RETURN(feed_, machine::ChangeFeed::Make());
  wake_ = std::make_shared<UniqueFd>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_->valid()) return Error::FromErrno("watch for changes");
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  return {};
}

std::unique_ptr<ChangeWatcher::Handle> ChangeWatcher::Add(Subscriber subscriber) {
  subscriber.signal = std::make_shared<Signal>(wake_);
  auto handle = std::make_unique<Handle>(*this, ++last_number_, subscriber.signal);
  subscribers_[last_number_] = std::move(subscriber);
  return handle;
}

Result<std::unique_ptr<Watch>> ChangeWatcher::WatchShell(
    const std::shared_ptr<shells::Shell>& shell, std::function<void()> changed) {
  std::unique_ptr<Handle> handle;
  {
    const std::lock_guard lock(mutex_);
    POLYBOX_RETURN_IF_ERROR(Start());
    handle = Add({.changed = std::move(changed)});
  }
  handle->Follow(shell);
  return std::unique_ptr<Watch>(std::move(handle));
}

Result<std::unique_ptr<Watch>> ChangeWatcher::WatchEntry(int directory, const std::string& name,
                                                         std::function<void()> changed) {
  struct stat info{};
  if (::fstat(directory, &info) != 0) return Error::FromErrno("watch a directory");
  const DirectoryId id(info.st_dev, info.st_ino);
  const std::lock_guard lock(mutex_);
  POLYBOX_RETURN_IF_ERROR(Start());
  Directory& watched = directories_[id];
  if (watched.subscribers == 0) {
    watched.tree = ++last_tree_;
    if (!feed_->Watch(directory, {.tree = watched.tree, .path = ""})) {
      directories_.erase(id);
      return Error::FromErrno("watch a directory").WithFix("Raise fs.inotify.max_user_watches");
    }
  }
  ++watched.subscribers;
  return std::unique_ptr<Watch>(
      Add({.changed = std::move(changed), .directory = id, .name = name}));
}

void ChangeWatcher::Remove(std::uint64_t number) {
  // A subscriber may end its own watch while it is called.
  std::unique_lock calling(telling_, std::defer_lock);
  if (thread_.get_id() != std::this_thread::get_id()) calling.lock();
  const std::lock_guard lock(mutex_);
  const auto found = subscribers_.find(number);
  if (found == subscribers_.end()) return;
  if (found->second.directory) {
    const auto directory = directories_.find(*found->second.directory);
    if (--directory->second.subscribers == 0) {
      feed_->Forget({.tree = directory->second.tree, .path = ""});
      directories_.erase(directory);
    }
  }
  subscribers_.erase(found);
}

void ChangeWatcher::TakeChanges() {
  const auto mark = [&](const std::function<bool(const Subscriber&)>& is_meant) {
    for (auto& [number, subscriber] : subscribers_) {
      if (subscriber.directory && is_meant(subscriber)) subscriber.signal->is_dirty = true;
    }
  };
  const bool complete = feed_->Read([&](const machine::Change& change) {
    mark([&](const Subscriber& subscriber) {
      return directories_[*subscriber.directory].tree == change.directory.tree &&
             subscriber.name == change.name;
    });
  });
  if (!complete) mark([](const Subscriber&) { return true; });
}

std::optional<ChangeWatcher::Clock::time_point> ChangeWatcher::TellDue() {
  const std::lock_guard telling(telling_);
  std::vector<std::function<void()>> due;
  std::optional<Clock::time_point> next;
  {
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    for (auto& [number, subscriber] : subscribers_) {
      if (!subscriber.signal->is_dirty) continue;
      const auto at = subscriber.told + pause_;
      if (at > now) {
        next = next ? std::min(*next, at) : at;
        continue;
      }
      subscriber.signal->is_dirty = false;
      subscriber.told = now;
      due.push_back(subscriber.changed);
    }
  }
  for (const std::function<void()>& changed : due) changed();
  return next;
}

void ChangeWatcher::Run(const std::stop_token& stop) {
  std::optional<Clock::time_point> next;
  while (!stop.stop_requested()) {
    pollfd waiting[] = {{feed_->fd(), POLLIN, 0}, {wake_->get(), POLLIN, 0}};
    int most = -1;
    if (next) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
      most = static_cast<int>(std::max<std::int64_t>(left, 0));
    }
    if (::poll(waiting, 2, most) < 0 && errno != EINTR) return;
    std::uint64_t count = 0;
    (void)!::read(wake_->get(), &count, sizeof count);
    if (waiting[0].revents != 0) {
      const std::lock_guard lock(mutex_);
      TakeChanges();
    }
    next = TellDue();
  }
}

}  // namespace polybox::tools
