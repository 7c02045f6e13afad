#include "http/base64.h"

#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace polybox::http {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNone = 0xff;

constexpr std::array<std::uint8_t, 256> MakeValues() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values.at(static_cast<unsigned char>(kAlphabet[i])) = static_cast<std::uint8_t>(i);
  }
  return values;
}

constexpr std::array<std::uint8_t, 256> kValues = MakeValues();

Error IllegalAt(std::size_t at) {
  return {ErrorKind::kInvalid, fmt::format("illegal base64 data at input byte {}", at)};
}

class Decoder {
 public:
  explicit Decoder(std::string_view text) : text_(text) { out_.reserve(text.size() / 4 * 3 + 3); }

  Result<std::string> Decode() {
    while (at_ < text_.size()) {
      POLYBOX_RETURN_IF_ERROR(Group());
    }
    return std::move(out_);
  }

 private:
  /// Decodes a group of up to four characters into up to three bytes.
  Status Group() {
    std::uint32_t bits = 0;
    for (unsigned count = 0; count < 4;) {
      if (at_ == text_.size()) return count == 0 ? Status() : IllegalAt(at_ - count);
      const char c = text_[at_++];
      const std::uint8_t value = kValues.at(static_cast<unsigned char>(c));
      if (value != kNone) {
        bits = bits << 6U | value;
        ++count;
      } else if (c == '=') {
        return Padding(bits, count);
      } else if (c != '\n' && c != '\r') {
        return IllegalAt(at_ - 1);
      }
    }
    Append(bits, 3);
    return {};
  }

  /// Checks the padding after the first '='. `count` is the number of characters before it in the
  /// group.
  Status Padding(std::uint32_t bits, unsigned count) {
    if (count < 2) return IllegalAt(at_ - 1);
    if (count == 2) {
      SkipLineEnds();
      if (at_ == text_.size()) return IllegalAt(text_.size());
      if (text_[at_] != '=') return IllegalAt(at_ - 1);
      ++at_;
    }
    SkipLineEnds();
    if (at_ < text_.size()) return IllegalAt(at_);
    Append(bits << (6U * (4 - count)), count - 1);
    return {};
  }

  void Append(std::uint32_t bits, unsigned bytes) {
    const std::array<char, 3> all = {static_cast<char>(bits >> 16U), static_cast<char>(bits >> 8U),
                                     static_cast<char>(bits)};
    out_.append(all.data(), bytes);
  }

  void SkipLineEnds() {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string EncodeBase64(std::string_view bytes) {
  std::string out;
  out.reserve(Base64Length(bytes.size()));
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8U | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out += i <= group.size() ? kAlphabet[(bits >> (18U - 6U * i)) & 0x3fU] : '=';
    }
  }
  return out;
}

Result<std::string> DecodeBase64(std::string_view text) {
  return Decoder(text).Decode();
}

}  // namespace polybox::http
