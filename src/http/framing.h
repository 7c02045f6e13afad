// Finds the end of a request's head and the length of its body, by a strict reading of RFC 9112.
// The connection uses these functions before Beast parses the head. Beast ignores unknown transfer
// codings, so a request body could be taken for the next request. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace polybox::http {

/// Finds the end of a head while its bytes arrive. Each request needs its own object.
class HeadEnd {
 public:
  enum class State {
    kMore,   ///< The end has not arrived.
    kFound,  ///< size() is the number of bytes up to and including the empty line.
    kBad,    ///< The text has a control character, or a CR or LF without the other. No valid head
             ///< contains these.
  };

  /// `text` is everything received of the request so far; each call must only append to it.
  State Look(std::string_view text);
  std::size_t size() const { return at_; }

 private:
  /// The number of bytes that have been checked.
  std::size_t at_ = 0;
};

/// Returns whether the text contains a control character other than a tab.
bool HasControl(std::string_view text);

struct Framing {
  bool chunked = false;
  /// The value of Content-Length.
  std::optional<std::uint64_t> length;
};

/// `head` is the text that HeadEnd found. The error names the broken rule. Its text contains
/// nothing of the request, because it goes into the answer.
Result<Framing> ReadFraming(std::string_view head);

}  // namespace polybox::http
