// Remembers which content of a file each caller has seen. Edit and Write refuse to change a file
// whose present content the caller has not seen. Each workspace has its own tracker. Any thread.
#pragma once

#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "workspace/content_hash.h"

namespace polybox::workspace {

class ReadTracker {
 public:
  /// About 15 MB of memory. An agent reads a few thousand files in a day. Beyond this number the
  /// oldest mark is dropped, and its file must be read again before it is changed.
  static constexpr std::size_t kMostMarks = 65536;

  explicit ReadTracker(std::size_t most_marks = kMostMarks) : most_marks_(most_marks) {}

  /// Records that `principal` has seen `content` at `path` (resolved, relative to the root).
  void Mark(std::string_view principal, std::string_view path, const ContentHash& content);
  /// Returns the content that `principal` has seen last; nothing if it has seen none.
  std::optional<ContentHash> Find(std::string_view principal, std::string_view path) const;

 private:
  struct Entry {
    std::string key;
    ContentHash content;
  };

  const std::size_t most_marks_;
  mutable std::mutex mutex_;
  /// Guarded by mutex_. The latest mark is first.
  std::list<Entry> entries_;
  /// Guarded by mutex_. The keys refer to the strings in entries_.
  std::unordered_map<std::string_view, std::list<Entry>::iterator> index_;
};

}  // namespace polybox::workspace
