// Structured logging: one line per event on standard error, as readable text on a terminal, as JSON
// otherwise. A Logger is cheap to copy. It carries its fields (a request id, a slot) to the code
// that logs the event. Any thread may use it. Text of a guest reaches the log only escaped and
// shortened: see guest_bytes.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/guest_bytes.h"

namespace spdlog {
class logger;
}

namespace polybox::log {

/// The severity of an event.
enum class Level { kDebug, kInfo, kWarn, kError };
/// Parses a word of the setting: debug, info, warn, error. Returns nothing for other words.
std::optional<Level> ParseLevel(std::string_view name);

/// The form of a line.
enum class Format { kText, kJson };

/// A key and its value on a line.
class Field {
 public:
  using Value = std::variant<bool, std::int64_t, std::uint64_t, double, std::string>;

  Field(std::string_view key, bool value) : key_(key), value_(value) {}
  Field(std::string_view key, double value) : key_(key), value_(value) {}
  Field(std::string_view key, std::string_view value) : key_(key), value_(std::string(value)) {}
  Field(std::string_view key, const char* value) : Field(key, std::string_view(value)) {}
  Field(std::string_view key, const std::string& value) : Field(key, std::string_view(value)) {}
  template <std::signed_integral Integer>
  Field(std::string_view key, Integer value) : key_(key), value_(std::int64_t{value}) {}
  template <std::unsigned_integral Integer>
    requires(!std::is_same_v<Integer, bool>)
  Field(std::string_view key, Integer value) : key_(key), value_(std::uint64_t{value}) {}
  /// A guest's text must be escaped first: GuestBytes::Escaped().
  Field(std::string_view key, const GuestBytes& value) = delete;

  const std::string& key() const { return key_; }
  const Value& value() const { return value_; }

 private:
  std::string key_;
  Value value_;
};

/// What is logged, and how.
struct Options {
  Level level = Level::kInfo;
  Format format = Format::kJson;
  bool colour = false;
};

class Logger {
 public:
  /// Makes a logger that writes to standard error.
  static Logger ToStderr(const Options& options);
  /// Makes a logger for tests. `out` must outlive the logger and its copies.
  static Logger ToStream(std::ostream& out, const Options& options);

  /// Returns a copy that adds these fields to every line.
  Logger With(std::initializer_list<Field> fields) const;

  void Debug(std::string_view message, std::initializer_list<Field> fields = {}) const;
  void Info(std::string_view message, std::initializer_list<Field> fields = {}) const;
  void Warn(std::string_view message, std::initializer_list<Field> fields = {}) const;
  void Error(std::string_view message, std::initializer_list<Field> fields = {}) const;

 private:
  Logger(std::shared_ptr<spdlog::logger> sink, const Options& options);
  void Write(Level level, std::string_view message, std::initializer_list<Field> fields) const;

  std::shared_ptr<spdlog::logger> sink_;
  Format format_;
  std::vector<Field> fields_;
};

}  // namespace polybox::log
