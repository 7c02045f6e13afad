#include "exec/collect.h"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

#include "sys/guest_tree.h"

namespace polybox::exec {
namespace {

// The number of files that are named; a guest can make any number.
constexpr std::size_t kMostNamed = 100;

const char* KindName(mode_t mode) {
  if (S_ISLNK(mode)) return "a link";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

class Collector {
 public:
  explicit Collector(const CollectLimits& limits) : limits_(limits) {}

  Status Take(const sys::TreeEntry& entry) {
    const mode_t mode = entry.info.st_mode;
    if (S_ISDIR(mode)) return {};
    if (!S_ISREG(mode)) return LeaveOut(entry.path, KindName(mode));
    if (collected_.files.size() >= limits_.files) return LeaveOut(entry.path, "too many files");
    const Bytes size(static_cast<std::uint64_t>(entry.info.st_size));
    if (size > limits_.file) {
      return LeaveOut(entry.path, fmt::format("larger than {}", FormatBytes(limits_.file)));
    }
    if (size > room()) {
      return LeaveOut(entry.path, fmt::format("more than {} in all", FormatBytes(limits_.total)));
    }
    return Read(entry);
  }

  Status LeaveOut(const std::string& path, std::string_view why) {
    if (collected_.left_out.size() < kMostNamed) {
      collected_.left_out.push_back(fmt::format("{} ({})", path, why));
    } else {
      ++unnamed_;
    }
    return {};
  }

  Collected Finish() && {
    if (unnamed_ > 0) collected_.left_out.push_back(fmt::format("and {} more", unnamed_));
    return std::move(collected_);
  }

 private:
  Bytes room() const { return Bytes(limits_.total.count() - taken_); }

  /// Reads at most as many bytes as the file had when it was examined.
  Status Read(const sys::TreeEntry& entry) {
    // No link is followed, and the type is checked again on the open descriptor.
    const Result<UniqueFd> file = sys::OpenBeneath(entry.directory, entry.name, O_RDONLY);
    struct stat info{};
    if (!file.ok() || ::fstat(file->get(), &info) != 0 || !S_ISREG(info.st_mode)) {
      return LeaveOut(entry.path, "cannot be opened");
    }
    std::string content(static_cast<std::size_t>(entry.info.st_size), '\0');
    std::size_t length = 0;
    while (length < content.size()) {
      const ssize_t count = ::read(file->get(), content.data() + length, content.size() - length);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return LeaveOut(entry.path, "cannot be read");
      if (count == 0) break;
      length += static_cast<std::size_t>(count);
    }
    content.resize(length);
    taken_ += length;
    collected_.files.push_back({entry.path, std::move(content)});
    return {};
  }

  const CollectLimits& limits_;
  Collected collected_;
  std::uint64_t taken_ = 0;
  std::size_t unnamed_ = 0;
};

}  // namespace

Result<Collected> CollectFiles(int directory, const CollectLimits& limits,
                               const std::stop_token& cancel) {
  Collector collector(limits);
  const sys::TreeVisitor visitor = {
      .entry =
          [&](const sys::TreeEntry& entry) {
            if (!cancel.stop_requested()) return collector.Take(entry);
            return Status(Error(ErrorKind::kUnavailable, "the request was cancelled"));
          },
      .skipped = [&](const std::string& path,
                     std::string_view why) { return collector.LeaveOut(path, why); }};
  POLYBOX_RETURN_IF_ERROR(
      sys::WalkGuestTree(directory, {.depth = limits.depth, .entries = limits.entries}, visitor)
          .In("collect the files of a run"));
  return std::move(collector).Finish();
}

}  // namespace polybox::exec
