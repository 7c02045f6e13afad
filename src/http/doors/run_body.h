// The body of POST /v1/run. ReadRunBody() parses leniently; CheckRunBody() checks in the dialect's
// order and with its messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "exec/request.h"
#include "http/doors/run.h"

namespace polybox::http {

/// A text that may be absent, which differs from an empty text.
struct RunText {
  std::optional<std::string> content;
  bool base64_encoded = false;
};

struct RunFile : RunText {
  std::optional<std::string> name;
};

struct RunBody {
  std::optional<std::string> runtime;
  /// Contains at most one file more than is allowed.
  std::optional<std::vector<RunFile>> files;
  std::optional<RunText> stdin_text;
  /// Warnings about unknown members, for the answer.
  std::vector<std::string> warnings;
  /// A member has the wrong type. The other members must not be used then.
  bool mistyped = false;
};

/// Parses the body; returns nothing when it is not JSON.
std::optional<RunBody> ReadRunBody(std::string_view text, const RunBodyLimits& limits);

/// The first problem of a body, and the path of the member that has it.
struct RunComplaint {
  std::vector<std::variant<std::string, std::size_t>> path;
  std::string message;
};

/// Returns the engine's request with the program of the body and its input.
std::variant<exec::Request, RunComplaint> CheckRunBody(RunBody body, const RunOptions& options);

}  // namespace polybox::http
