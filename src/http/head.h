// Formats the head of a response, and parses parts of a request's first line. Pure functions,
// except MakeRequestId().
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/exchange.h"

namespace polybox::http {

/// How the end of an answer's body is marked.
enum class BodyEnd {
  kLength,   ///< Content-Length.
  kChunked,  ///< Chunks, each with its size.
  kClose,    ///< The end of the connection, for clients of HTTP/1.0.
};

struct HeadFacts {
  BodyEnd body_end = BodyEnd::kLength;
  std::uint64_t length = 0;
  /// The HTTP version: 10 for HTTP/1.0 or 11 for HTTP/1.1.
  unsigned version = 11;
  bool keep_alive = true;
  std::string_view request_id;
  std::chrono::system_clock::time_point now;
};

/// Returns the status line and fields up to the empty line. Adds fields that keep pages of other
/// sites from reading the answer, unless the answer has its own Cross-Origin-Resource-Policy.
/// Leaves out a field whose value has a line break, because it could be taken for another field.
std::string FormatHead(const Response& response, const HeadFacts& facts);

/// Returns a short text with the status, and `why` unless `why` is empty.
Response PlainResponse(int status, std::string_view why = "");

/// Returns the name of a status, such as "Too Many Requests"; "" for an unknown status.
std::string_view ReasonPhrase(int status);

/// Returns the path of a request target, percent-decoded once; nothing when the target is
/// malformed.
std::optional<std::string> DecodePath(std::string_view target);

/// Returns whether a client's request id may be used: it is short and harmless in logs and headers.
bool IsSaneRequestId(std::string_view id);
/// Returns a random id of 32 hexadecimal digits.
std::string MakeRequestId();

}  // namespace polybox::http
