#include "workspace/read_tracker.h"

namespace polybox::workspace {
namespace {

/// Returns one text for both names. A path has no zero byte, so two pairs never have the same key.
std::string KeyOf(std::string_view principal, std::string_view path) {
  std::string key(path);
  key += '\0';
  key += principal;
  return key;
}

}  // namespace

void ReadTracker::Mark(std::string_view principal, std::string_view path,
                       const ContentHash& content) {
  std::string key = KeyOf(principal, path);
  const std::lock_guard lock(mutex_);
  if (const auto found = index_.find(key); found != index_.end()) {
    found->second->content = content;
    entries_.splice(entries_.begin(), entries_, found->second);
    return;
  }
  entries_.push_front({std::move(key), content});
  index_[entries_.front().key] = entries_.begin();
  if (entries_.size() <= most_marks_) return;
  index_.erase(entries_.back().key);
  entries_.pop_back();
}

std::optional<ContentHash> ReadTracker::Find(std::string_view principal,
                                             std::string_view path) const {
  const std::string key = KeyOf(principal, path);
  const std::lock_guard lock(mutex_);
  const auto found = index_.find(key);
  if (found == index_.end()) return std::nullopt;
  return found->second->content;
}

}  // namespace polybox::workspace
