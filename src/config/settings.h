// Every setting of polybox. A setting is a member here (its type and default) and a row in
// settings.cc (its key, what it means, what is allowed, its environment names). From the row come
// the flag, the environment variable, the key of the settings file, --help, shell completion and
// docs/settings.md.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/units.h"

namespace polybox::config {

struct Settings {
  std::string config;
  std::vector<std::string> languages_dir;
  std::string cache_dir;
  std::string packages_dir;
  std::string log_level = "info";
  std::string log_format = "auto";
  std::string isolation = "auto";
  std::string min_isolation = "rootless";
  std::string compile_cache = "on";
  Bytes compile_cache_size = Bytes::MiB(1024);
  std::string compile_cache_dir;
  std::vector<std::string> guest_egress;

  std::string listen = "127.0.0.1:8080";
  std::int64_t port = 0;
  std::string unix_socket;
  std::int64_t runtime_port = 0;
  std::string token_file;
  bool insecure = false;
  std::int64_t max_connections = 1024;
  Bytes max_body_memory = Bytes::MiB(512);
  Duration header_timeout = std::chrono::seconds(10);
  Duration request_timeout = std::chrono::seconds(30);
  Duration idle_timeout = std::chrono::seconds(30);
  Duration drain_timeout = std::chrono::seconds(10);
  std::string mode;
  Duration max_timeout = std::chrono::seconds(300);
  std::int64_t max_concurrent = 0;
  std::int64_t queue = 50;
  std::string warm = "on";
  std::vector<std::string> preload;
  std::int64_t warm_slots = 2;
  Bytes warm_memory = Bytes::MiB(512);
  std::string python_index;
  std::string node_registry;
  std::string npm_scripts = "off";
  std::vector<std::string> requirements_for;
  Bytes package_cache_size = Bytes::MiB(2048);
  std::vector<std::string> egress_allow = {"public"};
  std::string output_dir = "output";
  std::string base_dir = "/app";
  /// A pod's work directory usually gets as much; a project with its node_modules fits.
  Bytes base_dir_size = Bytes::MiB(1024);
  /// Three such projects; the kernel holds about a kilobyte for each file in memory.
  std::int64_t base_dir_files = 100000;
  std::string command_timeout = "300";

  bool metrics = true;
  Bytes max_body_size = Bytes::MiB(5);
  std::int64_t max_files = 10;
  Bytes max_file_size = Bytes::KiB(256);
  Bytes max_stdin_size = Bytes::MiB(1);
  Bytes output_limit = Bytes::MiB(1);
  Duration run_timeout = std::chrono::seconds(30);
  Duration compile_timeout = std::chrono::seconds(30);
  std::int64_t max_concurrency = 10;
  std::int64_t max_queue_size = 50;
  Duration queue_timeout = std::chrono::seconds(30);
};

/// Which commands take the setting as a flag. The environment and the file may always name it.
enum class Scope { kEverywhere, kServer };

using Member =
    std::variant<std::string Settings::*, std::int64_t Settings::*, bool Settings::*,
                 Bytes Settings::*, Duration Settings::*, std::vector<std::string> Settings::*>;

struct Setting {
  std::string_view key;
  Member member;
  Scope scope;
  /// One sentence without a full stop.
  std::string_view doc;
  /// How the default is shown when it is not simply the member's value.
  std::string_view default_doc = {};
  /// Environment names beside POLYBOX_<KEY>, in falling precedence.
  std::vector<std::string_view> env = {};
  /// Lists: what an item is, and what parts them in the environment.
  std::string_view item = "DIR";
  char separator = ':';
  /// Strings: the allowed words; empty allows any.
  std::vector<std::string_view> choices = {};
  /// Strings, and items of lists: says what is allowed when a value is not.
  std::optional<std::string> (*check)(const std::string&) = nullptr;
  /// Whole numbers; of a size or a time only whether it may be nothing.
  std::int64_t smallest = 0;
  std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  /// Sizes and times: a flag or variable without a unit counts bytes or seconds, as the flags of
  /// this name always did.
  bool bare_number = false;
};

/// All rows, in the order of the documentation.
std::span<const Setting> AllSettings();
const Setting* FindSetting(std::string_view key);
std::vector<std::string_view> SettingKeys();

/// "log-level" is POLYBOX_LOG_LEVEL.
std::string EnvironmentName(const Setting& setting);
/// The value as it would be written in the environment.
std::string ShowValue(const Settings& settings, const Setting& setting);
/// What its values look like: TEXT, NUMBER, SIZE, TIME, true|false, an item of a list, or the
/// choices.
std::string ValueForm(const Setting& setting);

}  // namespace polybox::config
