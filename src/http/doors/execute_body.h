// The body of POST /execute as it stands on the wire: types are checked, values are not.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace polybox::http {

/// Of each list: more than any sane request has, and few enough to keep in memory.
constexpr std::size_t kMostItems = 1000;

struct ExecuteBody {
  /// Absent and null are the same.
  std::optional<std::string> code;
  std::optional<std::string> command;
  /// What stood there when `command` is no text.
  std::string mistyped_command;
  std::int64_t timeout_seconds = 0;
  std::vector<std::string> requirements;
  /// Name to content in base64.
  std::map<std::string, std::string> files;
  std::string language;
  std::string input;
  std::vector<std::string> args;
  std::map<std::string, std::string> env;
  std::map<std::string, std::int64_t> limits;
};

/// The error is what the old server says: "invalid request: EOF".
Result<ExecuteBody> ReadExecuteBody(std::string_view text);

}  // namespace polybox::http
