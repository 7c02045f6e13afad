// The run dialect: POST /v1/run, GET /healthz, GET /metrics. Any runtime that is available, chosen
// by the request; results in base64, byte for byte as its clients know them. What it adds is in
// headers: X-Polybox-Isolation, and Retry-After when it is busy.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/units.h"
#include "exec/engine.h"
#include "http/doors/languages.h"
#include "http/exchange.h"

namespace polybox::http {

/// The dialect's own limits; each is a setting of the same name.
struct RunLimits {
  std::size_t max_body_size = 5242880;
  std::size_t max_files = 10;
  std::size_t max_file_size = 262144;
  std::size_t max_stdin_size = 1048576;
  /// Of a step: standard output and standard error together.
  std::size_t output_limit = 1048576;
  Duration run_timeout = std::chrono::seconds(30);
  Duration compile_timeout = std::chrono::seconds(30);
};

struct RunOptions {
  /// In alphabetical order of their ids.
  std::vector<LanguageFacts> languages;
  RunLimits limits;
  /// Its admission rules in the engine.
  std::size_t lane = 0;
  /// The text of /metrics; null: there is no such route.
  std::function<std::string()> metrics;
};

/// `executor` must outlive the door and all its exchanges.
Door MakeRunDoor(exec::Executor& executor, RunOptions options);

}  // namespace polybox::http
