// Finds where any of many literals may start in a text, at about the speed of memory: a filter on
// three bytes rejects nearly all positions. Immutable while it is used; any thread may search then.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace polybox::secrets {

class LiteralIndex {
 public:
  /// Whether the case of the literal's ASCII letters counts.
  enum class Case { kExact, kAny };

  /// Adds a literal of at least three bytes. `owner` is a number for the caller.
  void Add(std::string literal, Case letters, std::uint32_t owner);

  /// Calls `found(owner, begin, size)` for each occurrence of each literal, by ascending begin.
  template <typename Found>
  void Search(std::string_view text, const Found& found) const {
    if (text.size() < kKeySize || literals_.empty()) return;
    const char* data = text.data();
    const std::size_t wide = text.size() - kKeySize;
    std::size_t at = 0;
    // A load of four bytes is one instruction, so the last position, where only three are left,
    // comes after the loop.
    for (; at < wide; ++at) {
      std::uint32_t bytes = 0;
      std::memcpy(&bytes, data + at, sizeof bytes);
      const std::uint32_t key = bytes & kKeyMask;
      if (MayStart(key)) [[unlikely]] {
        Check(text, at, key, found);
      }
    }
    std::uint32_t last = 0;
    std::memcpy(&last, data + at, kKeySize);
    if (MayStart(last)) Check(text, at, last, found);
  }

 private:
  static constexpr std::size_t kKeySize = 3;
  static constexpr std::uint32_t kKeyMask = 0xFFFFFF;

  struct Literal {
    std::string text;
    Case letters;
    std::uint32_t owner;
  };

  /// A multiplication mixes the three bytes into 16 bits.
  static std::uint32_t Hash(std::uint32_t key) { return (key * 0x9E3779B1U) >> 16U; }
  bool MayStart(std::uint32_t key) const {
    const std::uint32_t hash = Hash(key);
    return ((filter_[hash >> 6U] >> (hash & 63U)) & 1U) != 0;
  }
  static bool Matches(const Literal& literal, std::string_view text);

  template <typename Found>
  void Check(std::string_view text, std::size_t at, std::uint32_t key, const Found& found) const {
    const auto bucket = buckets_.find(key);
    if (bucket == buckets_.end()) return;
    for (const std::uint32_t number : bucket->second) {
      const Literal& literal = literals_[number];
      if (Matches(literal, text.substr(at))) found(literal.owner, at, literal.text.size());
    }
  }

  /// 8 KiB, which stay in the first cache of a processor.
  std::array<std::uint64_t, 1024> filter_{};
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> buckets_;
  std::vector<Literal> literals_;
};

}  // namespace polybox::secrets
