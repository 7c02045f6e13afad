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
  /// gets the new path. Returns false if the kernel has no room for more watches, or if the paths
  /// of all watched directories would take too much memory.
  bool Watch(int fd, WatchedDirectory directory);
  /// Forgets the directory and all below it.
  void Forget(const WatchedDirectory& directory);
  void ForgetAll();
  /// Calls `visit` for each change since the last call. Returns false if changes were lost.
  bool Read(const std::function<void(const Change&)>& visit);

 private:
  using Watches = std::map<WatchedDirectory, int>;

  explicit ChangeFeed(UniqueFd fd) : fd_(std::move(fd)) {}
  /// Drops our part of a watch. Returns the entry behind it.
  Watches::iterator Drop(Watches::iterator entry);

  UniqueFd fd_;
  Watches watches_;
  /// The entry of `watches_` for each watch.
  std::unordered_map<int, Watches::iterator> directories_;
  /// The sum of the lengths of all watched paths.
  std::size_t path_bytes_ = 0;
};

}  // namespace polybox::machine
