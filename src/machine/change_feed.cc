#include "machine/change_feed.h"

#include <array>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/inotify.h>

namespace polybox::machine {
namespace {

constexpr std::uint32_t kWatched = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB |
                                   IN_CLOSE_WRITE | IN_ONLYDIR | IN_EXCL_UNLINK;

Change::Kind KindOf(std::uint32_t mask) {
  if ((mask & (IN_CREATE | IN_MOVED_TO)) != 0) return Change::Kind::kAppeared;
  if ((mask & (IN_DELETE | IN_MOVED_FROM)) != 0) return Change::Kind::kGone;
  return (mask & IN_ATTRIB) != 0 ? Change::Kind::kAttributes : Change::Kind::kWritten;
}

}  // namespace

Result<ChangeFeed> ChangeFeed::Make() {
  UniqueFd fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!fd.valid()) return Error::FromErrno("watch the workspace");
  return ChangeFeed(std::move(fd));
}

bool ChangeFeed::Watch(int fd, WatchedDirectory directory) {
  const int watch =
      ::inotify_add_watch(fd_.get(), fmt::format("/proc/self/fd/{}", fd).c_str(), kWatched);
  if (watch < 0) return false;
  const auto known = directories_.find(watch);
  if (known != directories_.end()) watches_.erase(known->second);
  const auto place = watches_.find(directory);
  if (place != watches_.end() && place->second != watch) {
    ::inotify_rm_watch(fd_.get(), place->second);
    directories_.erase(place->second);
  }
  watches_[directory] = watch;
  directories_[watch] = std::move(directory);
  return true;
}

void ChangeFeed::Forget(const WatchedDirectory& directory) {
  const std::string below = directory.path + "/";
  const auto forget = [&](auto at) {
    ::inotify_rm_watch(fd_.get(), at->second);
    directories_.erase(at->second);
    return watches_.erase(at);
  };
  if (const auto itself = watches_.find(directory); itself != watches_.end()) forget(itself);
  auto at = watches_.lower_bound({directory.tree, below});
  while (at != watches_.end() && at->first.tree == directory.tree &&
         at->first.path.starts_with(below)) {
    at = forget(at);
  }
}

void ChangeFeed::ForgetAll() {
  for (const auto& [watch, directory] : directories_) ::inotify_rm_watch(fd_.get(), watch);
  directories_.clear();
  watches_.clear();
}

bool ChangeFeed::Read(const std::function<void(const Change&)>& visit) {
  bool complete = true;
  alignas(inotify_event) std::array<char, 16384> buffer;  // NOLINT(*-member-init): read() fills it
  // A program that changes files all the time would otherwise keep this loop from ending.
  constexpr int kMostReads = 1024;
  for (int reads = 0; reads < kMostReads; ++reads) {
    const ssize_t size = ::read(fd_.get(), buffer.data(), buffer.size());
    if (size <= 0) break;
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
      if ((event->mask & IN_Q_OVERFLOW) != 0) complete = false;
      const auto directory = directories_.find(event->wd);
      if (event->len == 0 || directory == directories_.end()) continue;
      // `visit` may forget the directory.
      const WatchedDirectory where = directory->second;
      visit({where, event->name, KindOf(event->mask), (event->mask & IN_ISDIR) != 0});
    }
  }
  return complete;
}

}  // namespace polybox::machine
