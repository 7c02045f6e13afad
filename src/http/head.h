// The bytes of a response's head, and what can be read from a request's first line. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/exchange.h"

namespace polybox::http {

/// How the body that follows is delimited.
enum class Framing {
  kLength,   ///< Content-Length.
  kChunked,  ///< Parts, each with its size.
  kClose,    ///< Until the end of the connection, for clients of HTTP/1.0.
};

struct HeadFacts {
  Framing framing = Framing::kLength;
  std::uint64_t length = 0;
  /// 10 or 11.
  unsigned version = 11;
  bool keep_alive = true;
  std::string_view request_id;
  std::chrono::system_clock::time_point now;
};

/// Status line and fields up to the empty line. A field that could not be told from the next one (a
/// line break in its value) is left out.
std::string FormatHead(const Response& response, const HeadFacts& facts);

/// A short text that says the status and nothing else.
Response PlainResponse(int status);

/// "Too Many Requests"; "" for a status that has no name.
std::string_view ReasonPhrase(int status);

/// The path of a request target, percent-decoded once; nothing when it is malformed.
std::optional<std::string> DecodePath(std::string_view target);

/// Whether the id of a request can be taken over from its client: short and harmless in logs and
/// headers.
bool IsSaneRequestId(std::string_view id);
/// 32 hexadecimal digits.
std::string MakeRequestId();

}  // namespace polybox::http
