#include "exec/capture.h"

#include <algorithm>

#include <fmt/format.h>

namespace polybox::exec {

// Three quarters are for the beginning, which usually says most. The last quarter shows how the
// output ended.
Capture::Capture(Bytes limit)
    : head_limit_(limit.count() - limit.count() / 4), tail_limit_(limit.count() / 4) {}

void Capture::Add(std::string_view text) {
  const std::size_t to_head = std::min(text.size(), head_limit_ - head_.size());
  head_.append(text.substr(0, to_head));
  text.remove_prefix(to_head);
  const std::size_t to_fill = std::min(text.size(), tail_limit_ - tail_.size());
  tail_.append(text.substr(0, to_fill));
  text.remove_prefix(to_fill);
  dropped_ += text.size();
  if (tail_limit_ == 0) return;
  if (text.size() > tail_limit_) text.remove_prefix(text.size() - tail_limit_);
  for (const char c : text) {
    tail_[tail_begin_] = c;
    tail_begin_ = (tail_begin_ + 1) % tail_limit_;
  }
}

std::string Capture::Text() const {
  if (!truncated()) return head_ + tail_;
  const std::string tail = tail_.substr(tail_begin_) + tail_.substr(0, tail_begin_);
  return fmt::format("{}\n[... {} bytes left out ...]\n{}", head_, dropped_, tail);
}

}  // namespace polybox::exec
