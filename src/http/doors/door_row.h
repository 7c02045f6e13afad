// What a door declares about itself (DoorRow), and what a server brings for its doors (DoorParts).
// The table of all doors is in http/doors/door_table.h.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "exec/engine.h"
#include "http/doors/languages.h"
#include "http/doors/mcp.h"
#include "http/doors/run.h"
#include "http/doors/runtime.h"
#include "http/doors/workspaces.h"
#include "http/exchange.h"
#include "http/readiness.h"
#include "jail/grade.h"
#include "obs/metrics.h"

namespace polybox::http {

/// The operator's settings that doors use. Plain data, because doors do not depend on
/// config/settings.h.
struct DoorSettings {
  /// The rules of lanes that have no settings of their own. The name is ignored.
  exec::Lane usual_lane = {.name = "", .concurrency = 3, .queue = 50};
  /// The rules of the run dialect's lane. The name is ignored.
  exec::Lane run_lane = {.name = "", .concurrency = 10, .queue = 50};
  RunBodyLimits run_limits = {};
  /// The longest timeout of POST /execute.
  Duration largest_timeout = std::chrono::seconds(300);
  Duration command_timeout = std::chrono::seconds(300);
  std::string output_directory = "output";
  /// Whether the server has the route /metrics.
  bool metrics = true;
};

/// What the server knows about its languages.
struct DoorLanguages {
  /// The languages that run on this server, sorted by id.
  std::vector<LanguageFacts> available = {};
  /// The answer to GET /languages (language_list.h).
  std::string list = {};
  /// Returns why a known language does not run on this server; "" for any other name. May be null.
  std::function<std::string(std::string_view name)> why_not = {};
  /// The name of the mode, and the id of the mode's language.
  std::string mode = {};
  std::string language = {};
};

/// The parts of a server from which doors are made. Each door takes what it needs.
struct DoorParts {
  DoorSettings settings;
  /// Must outlive the doors and all their exchanges, as must `metrics`.
  exec::Executor& executor;
  /// Doors add gauges, so doors are made before the first Render().
  obs::Metrics& metrics;
  std::shared_ptr<const Readiness> readiness;
  DoorLanguages languages;
  CommandFiles files;
  McpOptions mcp = {};
  WorkspaceLister list_workspaces = {};
  jail::Grade isolation = jail::Grade::kNone;
  std::string version = {};
  /// Whether the server has tokens.
  bool needs_token = false;
  /// The doors of the earlier rows of the table. MakeDoors() sets them.
  std::vector<Door> earlier = {};
};

/// One door of the table. The OpenAPI part of a door is the file api/NAME.json. The access and the
/// log level of its probes are members of its routes (http/exchange.h).
struct DoorRow {
  /// The name of the made door, which is also its label in the metrics of requests.
  std::string_view name;
  /// Returns the rules of the door's lane in the engine. The name of the lane is its label in the
  /// metrics of runs. Null for a door that sends no requests to the engine by itself.
  exec::Lane (*lane)(const DoorSettings& settings) = nullptr;
  Result<Door> (*make)(const DoorParts& parts) = nullptr;
};

}  // namespace polybox::http
