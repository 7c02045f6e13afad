// The run dialect: POST /v1/run, GET /healthz, GET /metrics. Requests choose any available
// language. Results are in base64, byte for byte as existing clients expect. Extensions are only in
// headers: X-Polybox-Isolation, and Retry-After when the server is busy.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/units.h"
#include "exec/engine.h"
#include "http/doors/languages.h"
#include "http/exchange.h"

namespace polybox::http {

/// The dialect's own limits. Each is a setting of the same name.
struct RunBodyLimits {
  std::size_t max_body_size = 5242880;
  std::size_t max_files = 10;
  std::size_t max_file_size = 262144;
  std::size_t max_stdin_size = 1048576;
  /// The limit of a step, for standard output and standard error together.
  std::size_t output_limit = 1048576;
  Duration run_timeout = std::chrono::seconds(30);
  Duration compile_timeout = std::chrono::seconds(30);
};

struct RunOptions {
  /// The available languages, sorted by id.
  std::vector<LanguageFacts> languages;
  RunBodyLimits limits;
  /// The number of the lane in the engine.
  std::size_t lane = 0;
  /// Returns the text of /metrics. If null, the door has no such route.
  std::function<std::string()> metrics;
};

struct DoorRow;
extern const DoorRow kRunDoor;

/// Makes the door. `executor` must outlive the door and all its exchanges.
Door MakeRunDoor(exec::Executor& executor, RunOptions options);

}  // namespace polybox::http
