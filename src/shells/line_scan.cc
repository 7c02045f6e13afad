#include "shells/line_scan.h"

#include <algorithm>
#include <string>

namespace polybox::shells {
namespace {

constexpr std::size_t kPart = 256U << 10U;
/// More of a line is not held in memory.
constexpr std::size_t kLongestText = 64U << 10U;

std::uint64_t CountLineFeeds(const OutputLog& log, std::uint64_t from, std::uint64_t end) {
  std::uint64_t count = 0;
  while (from < end) {
    const Chunk chunk = log.Read(from, std::min<std::uint64_t>(kPart, end - from));
    if (chunk.bytes.empty() || chunk.begin >= end) break;
    const std::string_view part(chunk.bytes.data(),
                                std::min<std::uint64_t>(chunk.bytes.size(), end - chunk.begin));
    count += static_cast<std::uint64_t>(std::ranges::count(part, '\n'));
    from = chunk.begin + chunk.bytes.size();
  }
  return count;
}

/// Puts lines together from parts.
class LineMaker {
 public:
  explicit LineMaker(const std::function<bool(const ScannedLine&)>& take) : take_(take) {}

  /// Returns false when the taker wants no more.
  bool Add(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t feed = bytes.find('\n');
      const std::string_view part = bytes.substr(0, feed);
      text_.append(part.substr(0, kLongestText - text_.size()));
      size_ += part.size();
      if (feed == std::string_view::npos) return true;
      if (!Emit()) return false;
      offset_ += 1;
      bytes.remove_prefix(feed + 1);
    }
    return true;
  }

  /// Ends a line that has no line feed, if there is one.
  bool Finish() { return size_ == 0 || Emit(); }
  void GoTo(std::int64_t number, std::uint64_t offset) {
    number_ = number;
    offset_ = offset;
  }

 private:
  bool Emit() {
    const bool more = take_({.number = number_, .offset = offset_, .text = text_, .size = size_});
    ++number_;
    offset_ += size_;
    text_.clear();
    size_ = 0;
    return more;
  }

  const std::function<bool(const ScannedLine&)>& take_;
  std::string text_;
  std::uint64_t size_ = 0;
  std::int64_t number_ = 1;
  std::uint64_t offset_ = 0;
};

}  // namespace

void ScanLines(const OutputLog& log, const std::function<bool(const ScannedLine&)>& take) {
  const Extent extent = log.extent();
  LineMaker lines(take);
  std::uint64_t at = 0;
  while (at < extent.end) {
    const Chunk chunk = log.Read(at, std::min<std::uint64_t>(kPart, extent.end - at));
    if (chunk.begin >= extent.end || chunk.bytes.empty()) break;
    if (chunk.begin != at) {
      if (!lines.Finish()) return;
      const std::uint64_t behind = CountLineFeeds(log, chunk.begin, extent.end);
      lines.GoTo(static_cast<std::int64_t>(extent.line_feeds - behind) + 1, chunk.begin);
    }
    const std::string_view part(
        chunk.bytes.data(), std::min<std::uint64_t>(chunk.bytes.size(), extent.end - chunk.begin));
    if (!lines.Add(part)) return;
    at = chunk.begin + part.size();
  }
  (void)lines.Finish();
}

std::int64_t LineCount(const OutputLog& log) {
  const Extent extent = log.extent();
  if (extent.end == 0) return 0;
  const bool ends_with_feed = log.Read(extent.end - 1, 1).bytes == "\n";
  return static_cast<std::int64_t>(extent.line_feeds) + (ends_with_feed ? 0 : 1);
}

}  // namespace polybox::shells
