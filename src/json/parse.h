// Parses JSON text from untrusted sources. Size, depth and memory are limited before anything is
// built, so no text costs more than the caller allows. Any thread.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "json/value.h"

namespace polybox::json {

struct ParseLimits {
  /// The length of the text.
  Bytes size = Bytes::MiB(16);
  /// The depth of nested arrays and objects. A deeper value would exhaust the stack of code that
  /// walks it.
  std::size_t depth = 64;
  /// The memory of the value. Small elements need more memory than text: "[[],[],[]" about ten
  /// times as much.
  Bytes memory = Bytes::MiB(128);
};

/// Returns the value in `text`. Text after the value, comments, and strings that are not UTF-8 are
/// errors. If two members have the same name, the last one counts. An error names the byte at which
/// the text is no longer JSON.
Result<Value> Parse(std::string_view text, const ParseLimits& limits = {});

}  // namespace polybox::json
