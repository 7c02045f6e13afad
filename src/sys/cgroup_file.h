// The directories and files of a cgroup file system: what v1 and v2 have in common. All names are
// relative to directory descriptors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace polybox::sys {

/// A cgroup directory of ours: made here, removed by the destructor.
class CgroupDirectory {
 public:
  enum class OnExisting { kRefuse, kAccept };

  /// Below the directory open at `parent` (borrowed), whose path is only for messages.
  static Result<CgroupDirectory> Make(int parent, const std::string& parent_path,
                                      const std::string& name,
                                      OnExisting on_existing = OnExisting::kRefuse);
  CgroupDirectory(CgroupDirectory&&) noexcept = default;
  CgroupDirectory& operator=(CgroupDirectory&& other) noexcept;
  /// Tries for about an eighth of a second while the kernel still sees someone inside.
  ~CgroupDirectory();

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }

  /// Puts a new cgroup in the place of this one, whose counters start at zero. False when it stays,
  /// for someone is inside; all descriptors of its files stand for a removed one otherwise.
  Result<bool> Renew();

 private:
  CgroupDirectory(UniqueFd fd, std::string path, std::string name);
  void Remove();
  bool RemoveFrom(int parent) const;

  UniqueFd fd_;
  std::string path_;
  std::string name_;
};

/// An open file of a cgroup directory, read and written whole, as often as wanted.
class ControlFile {
 public:
  ControlFile() = default;
  static Result<ControlFile> Open(const CgroupDirectory& directory, const char* name, int flags);
  /// Empty (see valid()) when there is no such file, or none that allows `flags`.
  static Result<ControlFile> OpenIfThere(const CgroupDirectory& directory, const char* name,
                                         int flags);

  bool valid() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }

  /// One write, as the kernel wants it; the error names the file.
  Status Write(std::string_view value) const;
  Result<std::string> Read() const;
  Result<std::uint64_t> ReadNumber() const;
  /// The number after `key` in lines of "key number"; nothing when the kernel has no such line.
  Result<std::optional<std::uint64_t>> ReadCounter(std::string_view key) const;
  /// The same in `text`, which Read() gave.
  Result<std::optional<std::uint64_t>> CounterIn(std::string_view text, std::string_view key) const;

 private:
  ControlFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
};

/// A file that holds a limit. Remembers what was written, for a write costs more than a comparison.
class LimitFile {
 public:
  LimitFile() = default;
  explicit LimitFile(ControlFile file) : file_(std::move(file)) {}

  bool valid() const { return file_.valid(); }
  int fd() const { return file_.fd(); }
  const std::optional<std::int64_t>& written() const { return written_; }
  /// A failed write leaves the kernel's limit, and so what is remembered, as it was.
  Status Set(std::int64_t value) { return Set(value, std::to_string(value)); }
  /// `text` is how the file wants `value` written.
  Status Set(std::int64_t value, const std::string& text);
  /// Writes the same value once more.
  Status Rewrite();
  /// No limit until the next Rewrite(); what is remembered stays. That it may fail is no matter.
  void Lift(const char* unlimited) const { (void)file_.Write(unlimited); }

 private:
  ControlFile file_;
  std::optional<std::int64_t> written_;
  std::string text_;
};

/// Opens a directory for openat() and for joining.
Result<UniqueFd> OpenDirectory(int parent, const std::string& path);

/// A decimal number and at most one line end after it.
std::optional<std::uint64_t> ParseCgroupNumber(std::string_view text);

}  // namespace polybox::sys
