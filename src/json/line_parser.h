// Parses many small JSON objects one after the other, such as the lines of a log, with memory that
// is used again for each of them. Parse() of json/parse.h is for single values. One thread.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace polybox::json {

class LineParser {
 public:
  LineParser();
  ~LineParser();
  LineParser(const LineParser&) = delete;
  LineParser& operator=(const LineParser&) = delete;

  /// Returns the object on the line. The object is valid until the next call. The same is refused
  /// as by Parse(), but bytes that are not UTF-8 become U+FFFD.
  Result<const Object*> Parse(std::string_view line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace polybox::json
