// Parses the body of POST /execute. Types are checked here; values are checked in
// execute_request.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace polybox::http {

/// The largest number of items of a list: more than a sensible request has, and few enough to keep
/// in memory.
constexpr std::size_t kMostItems = 1000;

struct ExecuteBody {
  /// An absent member and null have the same effect.
  std::optional<std::string> code;
  std::optional<std::string> command;
  /// The JSON text of `command` when it is not a string.
  std::string mistyped_command;
  std::int64_t timeout_seconds = 0;
  std::vector<std::string> requirements;
  /// File names, and contents in base64.
  std::map<std::string, std::string> files;
  std::string language;
  std::string input;
  std::vector<std::string> args;
  std::map<std::string, std::string> env;
  std::map<std::string, std::int64_t> limits;
  /// Warnings about unknown members, for the answer.
  std::vector<std::string> warnings;
  /// The complaint about a member of a wrong type or with too many items, in the old server's
  /// words; "" for none.
  std::string complaint;
};

/// Parses `text`. The error says why it is no JSON, in the old server's words: "invalid request:
/// EOF".
Result<ExecuteBody> ReadExecuteBody(std::string_view text);

}  // namespace polybox::http
