#include "shells/event_log.h"

#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

namespace polybox::shells {
namespace {

/// More of a line is not searched: a line without an end must not take all memory.
constexpr std::size_t kLongestLine = 1U << 20U;
/// What an event shows of its line.
constexpr std::size_t kShownLine = 500;
constexpr std::size_t kMostEvents = 1024;
/// Dropped at once, so that a program that prints only errors does not cost a step per line.
constexpr std::size_t kDroppedAtOnce = 102;
/// The memory of one expression with its automata.
constexpr int kMostMemory = 4 << 20;

}  // namespace

std::vector<std::string> DefaultErrorPatterns() {
  return {"^Error:", "^Fatal:", "^panic:", "\\buncaught\\b", "UnhandledPromiseRejection"};
}

ErrorPatterns::ErrorPatterns(std::vector<std::string> texts,
                             std::vector<std::unique_ptr<re2::RE2>> compiled)
    : texts_(std::move(texts)), compiled_(std::move(compiled)) {}
ErrorPatterns::ErrorPatterns(ErrorPatterns&&) noexcept = default;
ErrorPatterns& ErrorPatterns::operator=(ErrorPatterns&&) noexcept = default;
ErrorPatterns::~ErrorPatterns() = default;

Result<ErrorPatterns> ErrorPatterns::Compile(std::vector<std::string> patterns) {
  if (patterns.size() > kMostPatterns) {
    return Error(ErrorKind::kInvalid,
                 fmt::format("too many error_patterns ({} > {})", patterns.size(), kMostPatterns));
  }
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMostMemory);
  std::vector<std::unique_ptr<re2::RE2>> compiled;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (patterns[i].empty()) {
      return Error(ErrorKind::kInvalid, fmt::format("error_patterns[{}] is empty", i));
    }
    compiled.push_back(std::make_unique<re2::RE2>(patterns[i], options));
    if (!compiled.back()->ok()) {
      return Error(ErrorKind::kInvalid,
                   fmt::format("error_patterns[{}] \"{}\" failed to compile: {}", i, patterns[i],
                               compiled.back()->error()));
    }
  }
  return ErrorPatterns(std::move(patterns), std::move(compiled));
}

const std::string* ErrorPatterns::Match(std::string_view line) const {
  for (std::size_t i = 0; i < compiled_.size(); ++i) {
    if (re2::RE2::PartialMatch({line.data(), line.size()}, *compiled_[i])) return &texts_[i];
  }
  return nullptr;
}

void EventLog::AddEvent(Event event) {
  const std::lock_guard lock(mutex_);
  if (events_.size() >= kMostEvents) {
    events_.erase(events_.begin(), events_.begin() + kDroppedAtOnce);
    dropped_ += kDroppedAtOnce;
  }
  event.id = ++last_id_;
  event.time = std::chrono::system_clock::now();
  events_.push_back(std::move(event));
}

void EventLog::Add(Event::Kind kind, std::string text) {
  AddEvent({.kind = kind, .text = std::move(text)});
}

void EventLog::Search(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::string* matched = patterns_.Match(line);
  if (matched == nullptr) return;
  AddEvent({.kind = Event::Kind::kError,
            .matched = *matched,
            .text = std::string(line.substr(0, kShownLine))});
}

void EventLog::Feed(std::string_view bytes) {
  if (patterns_.patterns().empty()) return;
  while (!bytes.empty()) {
    const std::size_t feed = bytes.find('\n');
    const std::string_view part = bytes.substr(0, feed);
    line_.append(part.substr(0, kLongestLine - line_.size()));
    if (feed == std::string_view::npos) return;
    FinishLine();
    bytes.remove_prefix(feed + 1);
  }
}

void EventLog::FinishLine() {
  if (!line_.empty()) Search(line_);
  line_.clear();
}

std::vector<Event> EventLog::Since(std::int64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto first = std::ranges::upper_bound(events_, id, {}, &Event::id);
  return {first, events_.end()};
}

std::int64_t EventLog::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

std::int64_t EventLog::last_id() const {
  const std::lock_guard lock(mutex_);
  return last_id_;
}

}  // namespace polybox::shells
