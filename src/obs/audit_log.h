// The audit log: a file to which one line of JSON is appended for each call of a tool and for each
// secret that was given to a caller. It never has arguments or answers. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "obs/tool_call.h"

namespace polybox::obs {

/// A secret that a caller got.
struct SecretAccess {
  std::string name;
  std::string principal;
  std::string source;
  std::uint64_t bytes = 0;
};

class AuditLog {
 public:
  /// Opens the file for appending and makes it if it does not exist, for its owner alone. `log`
  /// gets a warning when a line cannot be written.
  static Result<AuditLog> Open(const std::string& path, const log::Logger& log);

  void Record(const ToolCall& call);
  void Record(const SecretAccess& access);

 private:
  AuditLog(UniqueFd file, const log::Logger& log) : file_(std::move(file)), log_(log) {}
  /// Appends a line with one write(), so that lines of several processes do not mix.
  void Append(const std::string& line);

  UniqueFd file_;
  log::Logger log_;
};

}  // namespace polybox::obs
