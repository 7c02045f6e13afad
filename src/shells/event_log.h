// The events of a watched command: its start, a line of its standard error that matched a pattern,
// its idle timeout, and its end. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace polybox::shells {

/// Patterns for the first signs of trouble in the languages of most projects.
std::vector<std::string> DefaultErrorPatterns();
/// More patterns than this are refused: each line is searched for each of them.
inline constexpr std::size_t kMostPatterns = 32;

/// Compiled patterns. Immutable.
class ErrorPatterns {
 public:
  /// The error is "error_patterns[I] ...".
  static Result<ErrorPatterns> Compile(std::vector<std::string> patterns);
  ErrorPatterns(ErrorPatterns&&) noexcept;
  ErrorPatterns& operator=(ErrorPatterns&&) noexcept;
  ~ErrorPatterns();

  /// Returns the first pattern that matches the line; null if none does.
  const std::string* Match(std::string_view line) const;
  const std::vector<std::string>& patterns() const { return texts_; }

 private:
  ErrorPatterns(std::vector<std::string> texts, std::vector<std::unique_ptr<re2::RE2>> compiled);

  std::vector<std::string> texts_;
  std::vector<std::unique_ptr<re2::RE2>> compiled_;
};

struct Event {
  enum class Kind { kStarted, kError, kIdleTimeout, kExited };

  std::int64_t id = 0;
  Kind kind = Kind::kStarted;
  std::chrono::system_clock::time_point time;
  /// The pattern of kError.
  std::string matched = {};
  /// The line of kError, the reason of kIdleTimeout, "exit=N" of kExited.
  std::string text = {};
};

class EventLog {
 public:
  explicit EventLog(ErrorPatterns patterns) : patterns_(std::move(patterns)) {}

  void Add(Event::Kind kind, std::string text = {});
  /// Takes bytes of the standard error and adds an event for each line that matches.
  void Feed(std::string_view bytes);
  /// Takes a last line without a line feed.
  void FinishLine();

  /// Returns the events with larger ids.
  std::vector<Event> Since(std::int64_t id) const;
  std::int64_t dropped() const;
  std::int64_t last_id() const;
  const std::vector<std::string>& patterns() const { return patterns_.patterns(); }

 private:
  void AddEvent(Event event);
  void Search(std::string_view line);

  const ErrorPatterns patterns_;
  /// A line that is not complete yet, its first part. Only Feed() and FinishLine() use it, on one
  /// thread.
  std::string line_;
  mutable std::mutex mutex_;
  /// Guarded by `mutex_`.
  std::deque<Event> events_;
  std::int64_t last_id_ = 0;
  std::int64_t dropped_ = 0;
};

}  // namespace polybox::shells
