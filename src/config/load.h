// Brings the settings together: flag before environment before file before default. An unknown key
// or a bad value is an error that says where it stands, what it is and what is allowed.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/settings.h"

namespace polybox::config {

/// Where a value came from, weakest first.
enum class Source { kDefault, kFile, kEnvironment, kFlag };

struct Origin {
  Source source = Source::kDefault;
  /// `default`, `/etc/polybox/polybox.toml:3`, `SANDBOX_MODE` or `--mode`.
  std::string name = "default";
};

struct Inputs {
  /// Key and text, in the order given.
  std::vector<std::pair<std::string, std::string>> flags = {};
  std::map<std::string, std::string> environment = {};
  /// The file to read when neither flag nor environment names one and it exists; "" for none.
  std::vector<std::string> default_files = {};
};

struct Loaded {
  Settings settings;
  std::map<std::string, Origin, std::less<>> origins;

  const Origin& OriginOf(std::string_view key) const { return origins.find(key)->second; }
};

Result<Loaded> Load(const Inputs& inputs);

/// The inputs of this process: its environment and the usual files.
Inputs ProcessInputs(std::vector<std::pair<std::string, std::string>> flags);

/// The address to listen on: `listen`, with `port` put in when `port` was given at least as
/// strongly.
std::string ListenAddress(const Loaded& loaded);

/// How many requests may wait for /execute: `queue`, and none by default where the older
/// SANDBOX_MAX_CONCURRENT is used, whose server had no queue.
std::int64_t QueueLength(const Loaded& loaded);

/// A variable that Kubernetes sets for a service whose name starts with "polybox": not a setting of
/// ours.
bool IsServiceLink(const std::string& name, const std::string& value);

}  // namespace polybox::config
