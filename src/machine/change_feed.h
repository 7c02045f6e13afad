// Tells which entries of watched directories have appeared, gone or been written (inotify). One
// thread at a time.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "base/unique_fd.h"

namespace polybox::machine {

/// A directory of one of several trees.
struct WatchedDirectory {
  std::size_t tree = 0;
  /// From the root of the tree; "" is the root.
  std::string path;

  auto operator<=>(const WatchedDirectory&) const = default;
};

struct Change {
  enum class Kind { kAppeared, kGone, kWritten, kAttributes };

  const WatchedDirectory& directory;
  std::string_view name;
  Kind kind = Kind::kAppeared;
  bool is_directory = false;
};

class ChangeFeed {
 public:
  static Result<ChangeFeed> Make();

  /// Readable when there are changes.
  int fd() const { return fd_.get(); }
  /// Watches the directory that is open at `fd` (borrowed). A directory that is watched already
  /// gets the new path. Returns false if the kernel has no room for more watches.
  bool Watch(int fd, WatchedDirectory directory);
  /// Forgets the directory and all below it.
  void Forget(const WatchedDirectory& directory);
  void ForgetAll();
  /// Calls `visit` for each change since the last call. Returns false if changes were lost.
  bool Read(const std::function<void(const Change&)>& visit);

 private:
  explicit ChangeFeed(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
  std::unordered_map<int, WatchedDirectory> directories_;
  std::map<WatchedDirectory, int> watches_;
};

}  // namespace polybox::machine
