// A second reading of a stream of requests, to compare the server's with: where each request ends
// by RFC 9112. Written for this purpose alone, line by line over the whole text; it shares no code
// with src/http.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace polybox::fuzz {

struct ParsedRequest {
  std::string method;
  std::string target;
  std::string body;
};

struct ParsedStream {
  enum class End {
    kDone,        ///< The text ends with a request, or a request ends the connection.
    kIncomplete,  ///< The text ends within a head.
    kBad,         ///< A head breaks a rule.
    kBody,        ///< A body breaks a rule or is incomplete.
  };

  std::vector<ParsedRequest> requests;
  End end = End::kDone;
};

ParsedStream ParseStream(std::string_view text);

}  // namespace polybox::fuzz
