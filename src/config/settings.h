// All settings of polybox. A setting is a member of Settings (its type and default) and a row in
// settings.cc (its key, description, allowed values and environment names). From the row polybox
// derives the flag, the environment variable, the key of the settings file, --help, shell
// completion and docs/settings.md.
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
  /// 0 means each language file's own limit.
  Bytes run_memory;
  Bytes compile_memory;

  /// The loopback address: without a token, only this machine may reach the server.
  std::string listen = "127.0.0.1:8080";
  /// 0 means the port of `listen`.
  std::int64_t port = 0;
  std::string unix_socket;
  /// 0 means none.
  std::int64_t runtime_port = 0;
  std::string token_file;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> allowed_origins;
  bool insecure = false;
  /// These bound what clients can hold that send slowly, send nothing, or send too much together.
  std::int64_t max_connections = 1024;
  Bytes max_body_memory = Bytes::MiB(512);
  Duration header_timeout = std::chrono::seconds(10);
  Duration request_timeout = std::chrono::seconds(30);
  Duration idle_timeout = std::chrono::seconds(30);
  Duration drain_timeout = std::chrono::seconds(10);
  /// "" means the first mode whose toolchain is found.
  std::string mode;
  Duration max_timeout = std::chrono::seconds(300);
  /// 0 means twice the number of cores, but at least 3.
  std::int64_t max_concurrent = 0;
  std::int64_t queue = 50;
  std::string warm = "on";
  std::vector<std::string> preload;
  std::int64_t warm_slots = 2;
  Bytes warm_memory = Bytes::MiB(512);
  std::string reuse = "on";
  std::string python_index;
  std::string node_registry;
  std::string npm_scripts = "off";
  std::vector<std::string> requirements_for;
  Bytes package_cache_size = Bytes::MiB(2048);
  std::vector<std::string> egress_allow = {"public"};
  std::string output_dir = "output";
  std::string base_dir = "/app";
  /// About the usual size of a pod's work directory; a project with its node_modules fits.
  Bytes base_dir_size = Bytes::MiB(1024);
  /// Enough for three such projects. The kernel uses about a kilobyte of memory for each file.
  std::int64_t base_dir_files = 100000;
  Duration command_timeout = std::chrono::seconds(300);
  /// What a build in a container usually expects.
  Bytes command_memory = Bytes::MiB(1024);

  bool metrics = true;
  /// From here on: POST /v1/run.
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

  std::string workspace = "/workspace";
  std::string workspaces;
  bool readonly = false;
  std::vector<std::string> workspace_egress;
  std::string protected_paths = "default";
  std::string created_protected_files = "aside";
  /// A linker of a large program takes 2 GiB, and a language server may run beside it.
  Bytes workspace_memory = Bytes::MiB(4096);
  /// `npm install` and the go command start hundreds of threads, and servers run beside them.
  std::int64_t workspace_processes = 4096;
  /// `go build` of a large project writes 1 GiB there.
  Bytes workspace_tmp = Bytes::MiB(2048);
  /// Making the jail again takes a tenth of a second.
  Duration workspace_idle_time = std::chrono::minutes(10);
  bool workspace_as_root = false;
  std::string secrets_dir;
  std::string scrub = "on";
  std::vector<std::string> scrub_patterns;
  std::string audit_log;
  std::string otlp_endpoint;
  std::string tools = "core";
  std::string structured_output = "auto";
};

/// Which subcommands accept the setting as a flag. The environment and the file may always set it.
enum class Scope {
  kEverywhere,
  kServer,
  kAgents,  ///< Those that offer tools to coding agents.
};

using Member =
    std::variant<std::string Settings::*, std::int64_t Settings::*, bool Settings::*,
                 Bytes Settings::*, Duration Settings::*, std::vector<std::string> Settings::*>;

struct Setting {
  std::string_view key;
  Member member;
  Scope scope;
  /// One sentence without a full stop.
  std::string_view doc;
  /// The text shown as the default when the member's value would not be clear.
  std::string_view default_doc = {};
  /// Environment names besides POLYBOX_<KEY>, in descending precedence.
  std::vector<std::string_view> env = {};
  /// True if a bad value under a name in `env` causes a warning and is ignored, as the contract of
  /// that name requires.
  bool env_is_lenient = false;
  /// For lists: what an item is, and what separates items in the environment.
  std::string_view item = "DIR";
  char separator = ':';
  /// For strings: the allowed words; empty allows any text.
  std::vector<std::string_view> choices = {};
  /// For strings and items of lists: returns what is allowed when a value is not, else nothing.
  std::optional<std::string> (*check)(const std::string&) = nullptr;
  /// The range of a number. For a size or a time only whether `smallest` is 0 matters: then 0 is
  /// allowed and means none.
  std::int64_t smallest = 0;
  std::int64_t largest = std::numeric_limits<std::int64_t>::max();
};

/// Returns all rows, in the order of the documentation.
std::span<const Setting> AllSettings();
const Setting* FindSetting(std::string_view key);

/// Returns the main environment name: POLYBOX_LOG_LEVEL for "log-level".
std::string EnvironmentName(const Setting& setting);
/// Returns the value in the form that the environment uses.
std::string ShowValue(const Settings& settings, const Setting& setting);
/// Returns what a value looks like, for help texts: TEXT, NUMBER, SIZE, TIME, true|false, an item
/// of a list, or the choices.
std::string ValueForm(const Setting& setting);

}  // namespace polybox::config
