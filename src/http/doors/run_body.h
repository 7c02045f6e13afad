// The body of POST /v1/run: read leniently, then checked in the dialect's order with its messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "exec/request.h"
#include "http/doors/run.h"

namespace polybox::http {

/// A text that may be absent, which is not the same as empty.
struct RunText {
  std::optional<std::string> content;
  bool base64_encoded = false;
};

struct RunFile : RunText {
  std::optional<std::string> name;
};

struct RunBody {
  std::optional<std::string> runtime;
  /// At most one more than is allowed is kept.
  std::optional<std::vector<RunFile>> files;
  std::optional<RunText> stdin_text;
};

/// Nothing when it is not JSON, or of the wrong types.
std::optional<RunBody> ReadRunBody(std::string_view text, const RunLimits& limits);

/// The first thing that is wrong, and where.
struct RunComplaint {
  std::vector<std::variant<std::string, std::size_t>> path;
  std::string message;
};

/// The part of a request to the engine that comes from the body.
std::variant<exec::Request, RunComplaint> CheckRunBody(RunBody body, const RunOptions& options);

}  // namespace polybox::http
