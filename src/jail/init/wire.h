// How values are laid out in a message between the server and a slot init: fixed-width numbers and
// length-prefixed bytes, in order. Both ends are the same build on the same machine, so there is no
// versioning and no byte order to settle; but the reader trusts no length. Used by both sides: no
// dependency beyond the language.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace polybox::jail::init {

/// The bytes of a small message, which need no memory but their own.
class SmallMessage {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): whoever sends it wants nothing else of it
  operator std::string_view() const { return {bytes_, size_}; }

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

/// `Bytes` is a std::string or, for what has numbers only, a SmallMessage.
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

/// After a read past the end every value is zero or empty and ok() is false.
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

  /// Everything was there, and nothing is left over.
  bool Complete() const { return ok_ && rest_.empty(); }
  bool ok() const { return ok_; }

 private:
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

}  // namespace polybox::jail::init
