// Determines the settings of this process. A flag has precedence over the environment, the
// environment over the file, and the file over the default. An unknown key or a bad value is an
// error that says where it is, what it is and what is allowed.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/settings.h"

namespace polybox::config {

/// The source of a value, in ascending precedence.
enum class Source { kDefault, kFile, kEnvironment, kFlag };

struct Origin {
  Source source = Source::kDefault;
  /// `default`, `/etc/polybox/polybox.toml:3`, `SANDBOX_MODE` or `--mode`.
  std::string name = "default";
};

struct Inputs {
  /// Key and text of each flag, in the order given.
  std::vector<std::pair<std::string, std::string>> flags = {};
  std::map<std::string, std::string> environment = {};
  /// The files to try when neither a flag nor the environment names a file. The first that exists
  /// is read; none need exist.
  std::vector<std::string> default_files = {};
};

struct Loaded {
  Settings settings;
  std::map<std::string, Origin, std::less<>> origins;
  /// Messages about bad values that were ignored.
  std::vector<std::string> warnings;

  const Origin& OriginOf(std::string_view key) const { return origins.find(key)->second; }
};

/// Loads and checks all settings. The error lists everything that is wrong.
Result<Loaded> Load(const Inputs& inputs);

/// Returns the inputs of this process: `flags`, its environment and the usual files.
Inputs ProcessInputs(std::vector<std::pair<std::string, std::string>> flags);

/// Returns the address to listen on: `listen`. If `port` comes from a source of at least the same
/// precedence, it replaces the port in `listen`.
std::string ListenAddress(const Loaded& loaded);

/// Returns how many requests may wait for /execute: `queue`. When the older SANDBOX_MAX_CONCURRENT
/// is used, the default is 0, because the server that defined it had no queue.
std::int64_t QueueLength(const Loaded& loaded);

/// Returns whether Kubernetes sets this variable for a service whose name starts with "polybox".
/// Such a variable is not a setting.
bool IsServiceLink(const std::string& name, const std::string& value);

}  // namespace polybox::config
