// The stored output of one stream of a command. The beginning and the end are in memory. What lies
// between them is in a file without a name, which the kernel removes with the process. The file is
// a ring: when it is full, the oldest bytes behind the beginning are lost and counted. The end is
// never lost, and Append() never waits for a reader. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "shells/mapped_output.h"
#include "shells/output_quota.h"

namespace polybox::shells {

struct OutputLogOptions {
  /// Where the file is made. "" stores nothing on disk.
  std::string directory;
  /// Borrowed; must outlive the log.
  OutputQuota* quota = nullptr;
  /// The first errors of a build are usually within the first 64 KiB.
  Bytes head = Bytes::KiB(64);
  /// What an answer shows of the end, and what is left when the disk is full.
  Bytes tail = Bytes::KiB(64);
  /// Longer than the log of any usual build.
  Bytes ring = Bytes::MiB(64);
};

/// Which bytes of an output can be read: those before `head_end`, and those from `tail_begin` on.
struct Extent {
  std::uint64_t head_end = 0;
  std::uint64_t tail_begin = 0;
  /// The number of bytes that the command has written.
  std::uint64_t end = 0;
  /// The number of line feeds among them.
  std::uint64_t line_feeds = 0;

  std::uint64_t lost() const { return tail_begin - head_end; }
};

struct Chunk {
  /// The offset of the first byte.
  std::uint64_t begin = 0;
  std::string bytes;
};

class OutputLog {
 public:
  explicit OutputLog(OutputLogOptions options) : options_(std::move(options)) {}
  OutputLog(const OutputLog&) = delete;
  OutputLog& operator=(const OutputLog&) = delete;
  ~OutputLog();

  void Append(std::string_view bytes);
  Extent extent() const;
  /// Returns bytes from `from` on, or from the next byte that is stored. May return fewer than
  /// `most`, but none only at the end.
  Chunk Read(std::uint64_t from, std::size_t most) const;
  /// Returns all that was written. Fails if a part of it is lost. To be called when nothing writes
  /// any more; the result may outlive the log.
  Result<MappedOutput> Map() const;

 private:
  // All functions below need the lock.
  void Store(std::string_view bytes);
  bool Reserve();
  void GiveUpFile();
  /// The offset of the first stored byte behind the head.
  std::uint64_t TailBegin() const;

  const OutputLogOptions options_;
  mutable std::mutex mutex_;
  // All below are guarded by `mutex_`.
  std::string head_;
  /// The last bytes of the output, up to twice options_.tail.
  std::string tail_;
  UniqueFd file_;
  /// The size that the file may have. Fixed when the first byte is overwritten.
  std::uint64_t capacity_ = 0;
  /// The number of bytes that the file has taken.
  std::uint64_t stored_ = 0;
  bool file_failed_ = false;
  std::uint64_t end_ = 0;
  std::uint64_t line_feeds_ = 0;
};

/// Returns up to `most` bytes from `from` on, across chunks. Stops at a gap.
Chunk ReadOn(const OutputLog& log, std::uint64_t from, std::size_t most);

}  // namespace polybox::shells
