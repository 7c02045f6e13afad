// The directories and files of a cgroup file system, as far as cgroup v1 and v2 agree. Only for
// cgroup*.cc. All names are relative to directory descriptors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace polybox::sys {

/// A cgroup directory that this server makes; the destructor removes it.
class CgroupDirectory {
 public:
  enum class OnExisting { kRefuse, kAccept };

  /// Makes the cgroup `name` below the directory open at `parent` (borrowed). `parent_path` is only
  /// for error messages.
  static Result<CgroupDirectory> Make(int parent, const std::string& parent_path,
                                      const std::string& name,
                                      OnExisting on_existing = OnExisting::kRefuse);
  CgroupDirectory(CgroupDirectory&&) noexcept = default;
  CgroupDirectory& operator=(CgroupDirectory&& other) noexcept;
  /// Removes the cgroup. Retries for about an eighth of a second while the kernel still sees a
  /// process inside.
  ~CgroupDirectory();

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }

  /// Replaces this cgroup by a new one of the same name, whose counters start at zero. Returns
  /// false when a process is inside, and the cgroup stays. After true, every descriptor of a file
  /// in the old cgroup refers to a removed cgroup.
  Result<bool> Renew();

 private:
  CgroupDirectory(UniqueFd fd, std::string path, std::string name);
  void Remove();
  bool RemoveFrom(int parent) const;

  UniqueFd fd_;
  std::string path_;
  std::string name_;
};

/// An open file of a cgroup directory. Each read and write covers the whole file; the file can be
/// used any number of times.
class ControlFile {
 public:
  ControlFile() = default;
  static Result<ControlFile> Open(const CgroupDirectory& directory, const char* name, int flags);
  /// Returns an empty object (see valid()) when the file does not exist or does not allow `flags`.
  static Result<ControlFile> OpenIfThere(const CgroupDirectory& directory, const char* name,
                                         int flags);

  bool valid() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }

  /// Writes `value` with one write(), as the kernel requires. The error names the file.
  Status Write(std::string_view value) const;
  Result<std::string> Read() const;
  Result<std::uint64_t> ReadNumber() const;
  /// Returns the number after `key` in lines of "key number"; nothing when the kernel has no such
  /// line.
  Result<std::optional<std::uint64_t>> ReadCounter(std::string_view key) const;
  /// The same as ReadCounter(), in a `text` that Read() returned.
  Result<std::optional<std::uint64_t>> CounterIn(std::string_view text, std::string_view key) const;

 private:
  ControlFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
};

/// A file that holds a limit. Remembers the last written value, because a write costs more than a
/// comparison.
class LimitFile {
 public:
  LimitFile() = default;
  explicit LimitFile(ControlFile file) : file_(std::move(file)) {}

  bool valid() const { return file_.valid(); }
  int fd() const { return file_.fd(); }
  const std::optional<std::int64_t>& written() const { return written_; }
  /// Writes `value` unless it is already the limit. After a failed write the kernel's limit and the
  /// remembered value are unchanged.
  Status Set(std::int64_t value) { return Set(value, std::to_string(value)); }
  /// `text` is `value` in the format of the file.
  Status Set(std::int64_t value, const std::string& text);
  /// Writes the remembered value again.
  Status Rewrite();
  /// Removes the limit until the next Rewrite(); the remembered value stays. A failure has no
  /// consequence, so the result is ignored.
  void Lift(const char* unlimited) const { (void)file_.Write(unlimited); }

 private:
  ControlFile file_;
  std::optional<std::int64_t> written_;
  std::string text_;
};

/// Opens a directory, for openat() and as a target for joining a cgroup.
Result<UniqueFd> OpenDirectory(int parent, const std::string& path);

/// Parses a decimal number with at most one newline after it.
std::optional<std::uint64_t> ParseCgroupNumber(std::string_view text);

}  // namespace polybox::sys
