// Base64 with the standard alphabet, decoded like Go's StdEncoding: CR and LF are skipped, padding
// is required, and left-over bits are ignored.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace polybox::http {

std::string EncodeBase64(std::string_view bytes);

/// The length of the encoding of `bytes` bytes.
constexpr std::size_t Base64Length(std::size_t bytes) {
  return (bytes + 2) / 3 * 4;
}

/// Decodes `text`. The error is "illegal base64 data at input byte N", with the same N as in Go.
Result<std::string> DecodeBase64(std::string_view text);

}  // namespace polybox::http
