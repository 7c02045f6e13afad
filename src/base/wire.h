// The binary format of messages to a slot init and of files in polybox's caches. Values follow each
// other: numbers of fixed width, and bytes after their length. Writer and reader are the same build
// on the same machine, so the format has neither a version nor a byte order. The reader checks
// every length. Everything is in this header, because the slot init uses it too.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace polybox::wire {

/// A buffer for a small message, which allocates no memory.
class SmallMessage {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): whoever sends it wants nothing else of it
  operator std::string_view() const { return {bytes_, size_}; }

  /// Ends the process if the message is full: that is a mistake in polybox.
  void append(const char* bytes, std::size_t size) {
    if (size > kLargest - size_) __builtin_trap();
    std::memcpy(bytes_ + size_, bytes, size);
    size_ += size;
  }

 private:
  static constexpr std::size_t kLargest = 48;
  char bytes_[kLargest] = {};
  std::size_t size_ = 0;
};

/// Appends values to a buffer. `Bytes` is a std::string, or a SmallMessage for messages that
/// contain only numbers.
template <typename Bytes>
class BasicWriter {
 public:
  template <typename Number>
    requires(std::is_integral_v<Number> || std::is_enum_v<Number>)
  void Put(Number value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void Put(std::string_view text) {
    Put(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text.data(), text.size());
  }
  void Put(const std::string& text) { Put(std::string_view(text)); }
  void Put(const std::vector<std::string>& texts) {
    Put(static_cast<std::uint32_t>(texts.size()));
    for (const std::string& text : texts) Put(text);
  }

  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

using Writer = BasicWriter<std::string>;

/// Reads values in the order in which they were written. After a read past the end, every value is
/// zero or empty, and ok() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <typename Number>
    requires(std::is_integral_v<Number> || std::is_enum_v<Number>)
  void Get(Number& value) {
    value = Number{};
    const std::string_view raw = Take(sizeof value);
    if (!raw.empty()) std::memcpy(&value, raw.data(), sizeof value);
  }
  void Get(std::string& text) {
    std::uint32_t size = 0;
    Get(size);
    text = Take(size);
  }
  void Get(std::vector<std::string>& texts) {
    std::uint32_t count = 0;
    Get(count);
    texts.clear();
    for (std::uint32_t i = 0; i < count && ok_; ++i) Get(texts.emplace_back());
  }

  /// Returns whether all reads succeeded and no bytes are left.
  bool Complete() const { return ok_ && rest_.empty(); }
  bool ok() const { return ok_; }

 private:
  /// Returns the next `size` bytes; an empty text if there are fewer.
  std::string_view Take(std::size_t size) {
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace polybox::wire
