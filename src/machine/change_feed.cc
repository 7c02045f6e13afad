#include "machine/change_feed.h"

#include <array>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/inotify.h>

namespace polybox::machine {
namespace {

constexpr std::uint32_t kWatched = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB |
                                   IN_CLOSE_WRITE | IN_ONLYDIR | IN_EXCL_UNLINK;

/// Commands make directories without end, and with long names. Projects with 200,000 directories
/// have shorter paths than this.
constexpr std::size_t kMostPathBytes = 32U << 20U;

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

ChangeFeed::Watches::iterator ChangeFeed::Drop(Watches::iterator entry) {
  path_bytes_ -= entry->first.path.size();
  directories_.erase(entry->second);
  return watches_.erase(entry);
}

bool ChangeFeed::Watch(int fd, WatchedDirectory directory) {
  if (path_bytes_ + directory.path.size() > kMostPathBytes) return false;
  const int watch =
      ::inotify_add_watch(fd_.get(), fmt::format("/proc/self/fd/{}", fd).c_str(), kWatched);
  if (watch < 0) return false;
  const auto known = directories_.find(watch);
  if (known != directories_.end()) Drop(known->second);
  const auto place = watches_.find(directory);
  if (place != watches_.end()) {
    ::inotify_rm_watch(fd_.get(), place->second);
    Drop(place);
  }
  path_bytes_ += directory.path.size();
  directories_[watch] = watches_.emplace(std::move(directory), watch).first;
  return true;
}

void ChangeFeed::Forget(const WatchedDirectory& directory) {
  const std::string below = directory.path + "/";
  const auto forget = [&](Watches::iterator at) {
    ::inotify_rm_watch(fd_.get(), at->second);
    return Drop(at);
  };
  if (const auto itself = watches_.find(directory); itself != watches_.end()) forget(itself);
  auto at = watches_.lower_bound({directory.tree, below});
  while (at != watches_.end() && at->first.tree == directory.tree &&
         at->first.path.starts_with(below)) {
    at = forget(at);
  }
}

void ChangeFeed::ForgetAll() {
  // To remove a watch takes the kernel up to a millisecond, and there can be 200,000 of them. A new
  // instance takes the place of the old one, whose watches go all at once.
  const UniqueFd fresh(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  const bool replaced = fresh.valid() && ::dup3(fresh.get(), fd_.get(), O_CLOEXEC) >= 0;
  for (const auto& [directory, watch] : watches_) {
    if (!replaced) ::inotify_rm_watch(fd_.get(), watch);
  }
  directories_.clear();
  watches_.clear();
  path_bytes_ = 0;
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
      const WatchedDirectory where = directory->second->first;
      visit({where, event->name, KindOf(event->mask), (event->mask & IN_ISDIR) != 0});
    }
  }
  return complete;
}

}  // namespace polybox::machine
