#include "shells/output_log.h"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace polybox::shells {
namespace {

/// The file grows by this much at a time. The first step is granted even when the server's quota is
/// used up: a command without any store would lose its output.
constexpr std::uint64_t kStep = 1U << 20U;

bool WriteAt(int fd, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return true;
}

}  // namespace

OutputLog::~OutputLog() {
  GiveUpFile();
}

void OutputLog::Append(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  end_ += bytes.size();
  line_feeds_ += static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
  const std::size_t first =
      std::min<std::size_t>(bytes.size(), options_.head.count() - head_.size());
  head_.append(bytes.substr(0, first));
  bytes.remove_prefix(first);
  if (bytes.empty()) return;
  Store(bytes);
  const std::size_t keep = options_.tail.count();
  tail_.append(bytes.substr(bytes.size() > keep ? bytes.size() - keep : 0));
  if (tail_.size() > 2 * keep) tail_.erase(0, tail_.size() - keep);
}

bool OutputLog::Reserve() {
  if (capacity_ >= options_.ring.count()) return false;
  // After the first wrap the place of every byte depends on the capacity.
  if (stored_ > capacity_) return false;
  const std::uint64_t step = std::min(kStep, options_.ring.count() - capacity_);
  if (capacity_ != 0 && !options_.quota->Take(Bytes(step))) return false;
  capacity_ += step;
  return true;
}

void OutputLog::Store(std::string_view bytes) {
  if (file_failed_) return;
  if (!file_.valid()) {
    const std::string& directory = options_.directory;
    if (!directory.empty()) {
      file_ = UniqueFd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    }
    if (!file_.valid()) return GiveUpFile();
  }
  while (!bytes.empty()) {
    if (stored_ == capacity_) (void)Reserve();
    const std::uint64_t place = stored_ % capacity_;
    const std::string_view part = bytes.substr(0, capacity_ - place);
    if (!WriteAt(file_.get(), part, place)) return GiveUpFile();
    stored_ += part.size();
    bytes.remove_prefix(part.size());
  }
}

void OutputLog::GiveUpFile() {
  file_failed_ = true;
  file_.reset();
  if (capacity_ > kStep) options_.quota->Give(Bytes(capacity_ - std::min(capacity_, kStep)));
  capacity_ = 0;
}

std::uint64_t OutputLog::TailBegin() const {
  if (end_ == head_.size()) return end_;
  if (file_failed_) return end_ - std::min<std::uint64_t>(tail_.size(), end_ - head_.size());
  return end_ - std::min(stored_, capacity_);
}

Extent OutputLog::extent() const {
  const std::lock_guard lock(mutex_);
  return {
      .head_end = head_.size(), .tail_begin = TailBegin(), .end = end_, .line_feeds = line_feeds_};
}

Chunk OutputLog::Read(std::uint64_t from, std::size_t most) const {
  const std::lock_guard lock(mutex_);
  if (from < head_.size()) return {from, head_.substr(from, most)};
  from = std::max(from, TailBegin());
  if (from >= end_) return {end_, ""};
  const std::uint64_t left = end_ - from;
  if (left <= tail_.size()) return {from, tail_.substr(tail_.size() - left, most)};
  const std::uint64_t place = (stored_ - left) % capacity_;
  std::string bytes(std::min({std::uint64_t{most}, left, capacity_ - place}), '\0');
  const ssize_t count = ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(place));
  // A file that cannot be read any more: the end is still in memory.
  if (count <= 0) return {end_ - tail_.size(), tail_.substr(0, most)};
  bytes.resize(static_cast<std::size_t>(count));
  return {from, std::move(bytes)};
}

Result<MappedOutput> OutputLog::Map() const {
  const std::lock_guard lock(mutex_);
  if (const std::uint64_t lost = TailBegin() - head_.size(); lost != 0) {
    return Error(ErrorKind::kUnavailable,
                 fmt::format("{} of {} bytes of the output were not kept", lost, end_));
  }
  if (end_ == head_.size()) return MappedOutput::Of(head_);
  // Only the end is in memory: it is the whole rest.
  if (file_failed_)
    return MappedOutput::Of(head_ + tail_.substr(tail_.size() - (end_ - head_.size())));
  return MappedOutput::Make(head_, file_.get(), stored_);
}

Chunk ReadOn(const OutputLog& log, std::uint64_t from, std::size_t most) {
  Chunk all = log.Read(from, most);
  while (all.bytes.size() < most) {
    const std::uint64_t next = all.begin + all.bytes.size();
    const Chunk more = log.Read(next, most - all.bytes.size());
    if (more.bytes.empty() || more.begin != next) break;
    all.bytes += more.bytes;
  }
  return all;
}

}  // namespace polybox::shells
