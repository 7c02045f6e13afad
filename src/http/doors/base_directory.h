// The directory that the Kubernetes runtime API serves. Files are read, written and listed only
// below this directory, whatever links its guests make. The kernel resolves each path in one
// openat2(), so a path cannot change between a check and its use. Where a filter refuses openat2(),
// sys/open_below.h follows no link at all. Any thread may call the const functions; the others are
// for the start, before the directory is shared.
// Errors: kInvalid for a path that leads out of the directory, kNotFound for a path to nothing,
// kUnavailable for a result that is too large.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "exec/space_watch.h"
#include "jail/scratch_home.h"

namespace polybox::http {

class BaseDirectory {
 public:
  struct Entry {
    std::string name;
    std::int64_t size = 0;
    bool directory = false;
    /// Seconds since 1970.
    double modified = 0;
  };

  /// Opens `path` if it is a directory. If nothing exists there, makes a private directory instead,
  /// which the destructor removes. The private directory of a killed server is removed at the next
  /// start (jail::SweepScratchHomes).
  static Result<BaseDirectory> Open(const std::string& path);
  BaseDirectory(BaseDirectory&&) noexcept = default;
  BaseDirectory& operator=(BaseDirectory&&) = delete;
  ~BaseDirectory();

  /// Makes sure that the kernel limits the directory's size. A private directory becomes a tmpfs,
  /// visible to this thread and the threads that it starts. Any other directory must be a file
  /// system of its own that is small enough. Call before the directory has content. After an error
  /// the caller must watch the size itself.
  Status KeepWithin(const exec::SpaceLimits& limits);
  /// Returns whether the files are in memory, after KeepWithin().
  bool in_memory() const { return mounted_; }

  /// Later files belong to `uid`. Needs root, unless `uid` is this process's own.
  void SetOwner(unsigned uid);
  /// The path on the host.
  const std::string& path() const { return path_; }
  /// A descriptor of the directory (borrowed).
  int fd() const { return fd_.get(); }

  // Paths are relative to the directory. Slashes at the start are ignored.

  /// Returns the content of a plain file of at most `largest`. Any other kind of file is kNotFound.
  Result<std::string> Read(std::string_view path, Bytes largest) const;
  /// Writes a file atomically: a reader sees either the old content or the new. Makes missing
  /// directories.
  Status Write(std::string_view path, std::string_view content) const;
  /// Returns at most `most` entries, sorted by name. A path that is no directory is kNotFound.
  Result<std::vector<Entry>> List(std::string_view path, std::size_t most) const;
  Result<bool> Exists(std::string_view path) const;

 private:
  BaseDirectory(std::string path, UniqueFd fd, std::optional<jail::ScratchHome> home)
      : path_(std::move(path)), fd_(std::move(fd)), home_(std::move(home)) {}

  Result<UniqueFd> OpenBeneath(const std::string& path, unsigned flags) const;
  /// Makes missing parent directories of a file, and opens the last one.
  Result<UniqueFd> MakeParents(const std::vector<std::string>& components) const;
  Entry Describe(int directory, const std::string& folder, const std::string& name) const;

  std::string path_;
  UniqueFd fd_;
  /// Present for a private directory.
  std::optional<jail::ScratchHome> home_;
  bool mounted_ = false;
  std::optional<unsigned> owner_;
};

}  // namespace polybox::http
