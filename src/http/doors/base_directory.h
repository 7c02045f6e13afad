// The directory that the Kubernetes runtime API shows: files are read, written and listed beneath
// it and nowhere else, whatever links its guests make in it. The kernel resolves every path
// (openat2), so there is no moment between a check and its use. Any thread.
//
// An error of kind kInvalid is a path that leads out, one of kind kNotFound names nothing, one of
// kind kUnavailable is too much to hand out.
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

  /// `path` if it is a directory; where there is nothing, a private directory in its stead, which
  /// goes with the object.
  static Result<BaseDirectory> Open(const std::string& path);
  BaseDirectory(BaseDirectory&&) noexcept = default;
  BaseDirectory& operator=(BaseDirectory&&) = delete;
  ~BaseDirectory();

  /// Makes sure that the kernel keeps it within `limits`: one that is private becomes a file system
  /// of its own, in memory, which this thread and those that it starts see; any other must be one
  /// that is small enough. Before anything is in it. An error says why not: then it must be
  /// watched.
  Status KeepWithin(const exec::SpaceLimits& limits);
  /// After KeepWithin: its files are in memory.
  bool in_memory() const { return mounted_; }

  /// What is written from here on is theirs; needs root unless it is ourselves.
  void SetOwner(unsigned uid) { owner_ = uid; }
  /// On the host.
  const std::string& path() const { return path_; }
  /// Borrowed.
  int fd() const { return fd_.get(); }

  // Paths are relative to the base; slashes at the start are ignored.

  /// A plain file of at most `largest`; anything else is kNotFound.
  Result<std::string> Read(std::string_view path, Bytes largest) const;
  /// In one step: a reader sees the old content or the new. Directories on the way are made.
  Status Write(std::string_view path, std::string_view content) const;
  /// By name; at most `most`. What is no directory is kNotFound.
  Result<std::vector<Entry>> List(std::string_view path, std::size_t most) const;
  Result<bool> Exists(std::string_view path) const;

 private:
  BaseDirectory(std::string path, UniqueFd fd, bool is_private)
      : path_(std::move(path)), fd_(std::move(fd)), private_(is_private) {}

  Result<UniqueFd> OpenBeneath(const std::string& path, unsigned flags) const;
  /// Makes what is missing on the way to a file and opens the last directory.
  Result<UniqueFd> MakeParents(const std::vector<std::string>& components) const;
  Entry Describe(int directory, const std::string& folder, const std::string& name) const;

  std::string path_;
  UniqueFd fd_;
  bool private_ = false;
  bool mounted_ = false;
  std::optional<unsigned> owner_;
};

}  // namespace polybox::http
