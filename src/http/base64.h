// Base64 with the standard alphabet, read as Go's StdEncoding reads it: CR and LF are skipped,
// padding is required, bits that are left over are not looked at.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace polybox::http {

std::string EncodeBase64(std::string_view bytes);

/// How long `bytes` bytes become.
constexpr std::size_t Base64Length(std::size_t bytes) {
  return (bytes + 2) / 3 * 4;
}

/// The error is "illegal base64 data at input byte N", with Go's N.
Result<std::string> DecodeBase64(std::string_view text);

}  // namespace polybox::http
