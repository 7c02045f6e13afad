#include "config/settings.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "net/egress_policy.h"

namespace polybox::config {
namespace {

using Complaint = std::optional<std::string>;

Complaint CheckAddress(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  const bool number = !port.empty() && port.size() <= 5 &&
                      std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  if (number && colon > 0 && std::stoi(port) <= 65535) return std::nullopt;
  return "expected HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080";
}

Complaint CheckDirectoryName(const std::string& name) {
  const bool plain =
      !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
  return plain ? std::nullopt : Complaint("expected a plain directory name without /");
}

Complaint CheckEgressHost(const std::string& entry) {
  std::string complaint = net::ComplaintAboutEntry(entry);
  return complaint.empty() ? std::nullopt : Complaint(std::move(complaint));
}

// The table. Read only after main() has begun.
const std::vector<Setting> kRows = {
    {.key = "config",
     .member = &Settings::config,
     .scope = Scope::kEverywhere,
     .doc = "Settings file to read",
     .default_doc =
         "polybox/polybox.toml in $XDG_CONFIG_HOME or ~/.config, else in /etc, if there"},
    {.key = "languages-dir",
     .member = &Settings::languages_dir,
     .scope = Scope::kEverywhere,
     .doc = "Directory of language files that add to the built-in ones or replace them; may be "
            "given "
            "several times, later ones win"},
    {.key = "cache-dir",
     .member = &Settings::cache_dir,
     .scope = Scope::kEverywhere,
     .doc = "Where answers that can be found again are kept",
     .default_doc = "/var/cache/polybox as root, else polybox in $XDG_CACHE_HOME or ~/.cache"},
    {.key = "packages-dir",
     .member = &Settings::packages_dir,
     .scope = Scope::kEverywhere,
     .doc = "Where preinstalled packages are kept, one directory per language",
     .default_doc = "/var/lib/polybox/packages as root, else polybox/packages in $XDG_DATA_HOME "
                    "or ~/.local/share"},
    {.key = "log-level",
     .member = &Settings::log_level,
     .scope = Scope::kEverywhere,
     .doc = "Least important lines that are logged",
     .choices = {"debug", "info", "warn", "error"}},
    {.key = "log-format",
     .member = &Settings::log_format,
     .scope = Scope::kEverywhere,
     .doc = "How log lines look; auto is text on a terminal and JSON otherwise",
     .choices = {"auto", "text", "json"}},
    {.key = "isolation",
     .member = &Settings::isolation,
     .scope = Scope::kEverywhere,
     .doc = "Isolation grade under which programs are run; auto is the best that the host gives, "
            "and never none",
     .choices = {"auto", "full", "rootless", "landlock", "none"}},
    {.key = "min-isolation",
     .member = &Settings::min_isolation,
     .scope = Scope::kEverywhere,
     .doc = "Weakest isolation grade under which programs are run; below it, polybox refuses",
     .choices = {"full", "rootless", "landlock", "none"}},
    {.key = "compile-cache",
     .member = &Settings::compile_cache,
     .scope = Scope::kEverywhere,
     .doc = "Whether a program that was compiled before is taken from a cache",
     .choices = {"on", "off"}},
    {.key = "compile-cache-size",
     .member = &Settings::compile_cache_size,
     .scope = Scope::kEverywhere,
     .doc = "How much room compiled programs may take before those not used for longest go"},
    {.key = "compile-cache-dir",
     .member = &Settings::compile_cache_dir,
     .scope = Scope::kEverywhere,
     .doc = "Where compiled programs are kept; whoever can write there decides what others run",
     .default_doc = "compiled in `cache-dir`"},
    {.key = "guest-egress",
     .member = &Settings::guest_egress,
     .scope = Scope::kEverywhere,
     .doc = "Host that programs may reach, through a proxy that HTTPS_PROXY names, written as in "
            "`egress-allow`; an address that is not public must stand in the list itself, whatever "
            "name leads there; may be given several times",
     .default_doc = "none: programs have no network at all",
     .item = "HOST",
     .separator = ',',
     .check = CheckEgressHost},
    {.key = "listen",
     .member = &Settings::listen,
     .scope = Scope::kServer,
     .doc = "Address that the server listens on",
     .check = CheckAddress},
    {.key = "port",
     .member = &Settings::port,
     .scope = Scope::kServer,
     .doc = "Replaces the port of `listen`, unless `listen` was given in a stronger place",
     .default_doc = "the port of `listen`",
     .env = {"SANDBOX_PORT", "PORT"},
     .smallest = 1,
     .largest = 65535},
    {.key = "unix-socket",
     .member = &Settings::unix_socket,
     .scope = Scope::kServer,
     .doc = "Path of a Unix socket that the server listens on as well; only its own user may "
            "connect"},
    {.key = "runtime-port",
     .member = &Settings::runtime_port,
     .scope = Scope::kServer,
     .doc = "Second port, for clients of the Kubernetes runtime API, which expect 8888; 0 for none",
     .largest = 65535},
    {.key = "token-file",
     .member = &Settings::token_file,
     .scope = Scope::kServer,
     .doc = "File with the tokens that clients must bring (Authorization: Bearer TOKEN, or "
            "X-Polybox-Token), one per line"},
    {.key = "insecure",
     .member = &Settings::insecure,
     .scope = Scope::kServer,
     .doc = "Listens on an address that other machines reach even without a token"},
    {.key = "max-connections",
     .member = &Settings::max_connections,
     .scope = Scope::kServer,
     .doc = "How many connections the server holds at once; more of them wait to be accepted",
     .smallest = 1,
     .largest = 100000},
    {.key = "max-body-memory",
     .member = &Settings::max_body_memory,
     .scope = Scope::kServer,
     .doc = "Memory that the bodies of all requests may take together, until each is answered; "
            "whoever "
            "finds none is told to try again",
     .smallest = 1},
    {.key = "header-timeout",
     .member = &Settings::header_timeout,
     .scope = Scope::kServer,
     .doc = "How long a client may take to send the head of a request",
     .smallest = 1},
    {.key = "request-timeout",
     .member = &Settings::request_timeout,
     .scope = Scope::kServer,
     .doc = "How long a client may take to send a whole request",
     .smallest = 1},
    {.key = "idle-timeout",
     .member = &Settings::idle_timeout,
     .scope = Scope::kServer,
     .doc = "How long a connection is kept without a request",
     .smallest = 1},
    {.key = "drain-timeout",
     .member = &Settings::drain_timeout,
     .scope = Scope::kServer,
     .doc = "How long requests may go on when the server was told to end; then they are cancelled",
     .bare_number = true},
    {.key = "mode",
     .member = &Settings::mode,
     .scope = Scope::kServer,
     .doc = "Language that /execute runs when a request names none: python, golang, node or shell",
     .default_doc = "the first of those whose toolchain is found, in that order",
     .env = {"SANDBOX_MODE"}},
    {.key = "max-timeout",
     .member = &Settings::max_timeout,
     .scope = Scope::kServer,
     .doc = "Longest time that a request to /execute may ask for; more is cut to it",
     .smallest = 1},
    {.key = "max-concurrent",
     .member = &Settings::max_concurrent,
     .scope = Scope::kServer,
     .doc = "How many programs run at once",
     .default_doc = "twice the cores, at least 3",
     .env = {"SANDBOX_MAX_CONCURRENT"},
     .smallest = 1,
     .largest = 4096},
    {.key = "queue",
     .member = &Settings::queue,
     .scope = Scope::kServer,
     .doc = "How many requests to /execute may wait for their turn",
     .default_doc = "50, and 0 when SANDBOX_MAX_CONCURRENT is set",
     .largest = 100000},
    {.key = "warm",
     .member = &Settings::warm,
     .scope = Scope::kServer,
     .doc = "Whether interpreters are started before there is a program for them",
     .choices = {"on", "off"}},
    {.key = "preload",
     .member = &Settings::preload,
     .scope = Scope::kServer,
     .doc = "Modules that such an interpreter loads ahead, besides the usual ones: "
            "python=numpy,pandas; the log says which cannot be loaded; may be given several times",
     .item = "LANGUAGE=MODULES",
     .separator = ','},
    {.key = "warm-slots",
     .member = &Settings::warm_slots,
     .scope = Scope::kServer,
     .doc = "How many jails of the mode's language are kept ready even when nobody asks",
     .largest = 128},
    {.key = "warm-memory",
     .member = &Settings::warm_memory,
     .scope = Scope::kServer,
     .doc = "Memory that jails which wait for work may use together; beyond it some are given up"},
    {.key = "python-index",
     .member = &Settings::python_index,
     .scope = Scope::kServer,
     .doc = "URL of the index that Python packages come from",
     .default_doc = "what the installer uses by itself",
     .env = {"SANDBOX_PYTHON_INDEX"}},
    {.key = "node-registry",
     .member = &Settings::node_registry,
     .scope = Scope::kServer,
     .doc = "URL of the registry that Node packages come from",
     .default_doc = "what the installer uses by itself"},
    {.key = "npm-scripts",
     .member = &Settings::npm_scripts,
     .scope = Scope::kServer,
     .doc =
         "Whether scripts of Node packages run while they are installed, in the installer's jail",
     .choices = {"off", "on"}},
    {.key = "requirements-for",
     .member = &Settings::requirements_for,
     .scope = Scope::kServer,
     .doc =
         "Language whose `requirements` are installed though they are ignored otherwise: go; may "
         "be given several times",
     .default_doc = "none",
     .item = "LANGUAGE",
     .separator = ','},
    {.key = "package-cache-size",
     .member = &Settings::package_cache_size,
     .scope = Scope::kServer,
     .doc = "How much room installed package sets may take before those not used for longest go"},
    {.key = "egress-allow",
     .member = &Settings::egress_allow,
     .scope = Scope::kServer,
     .doc =
         "Host that package installers may reach, as HOST, *.SUFFIX or one of them with :PORT (443 "
         "otherwise), or the word public for port 443 of every public address; may be given "
         "several times",
     .item = "HOST",
     .separator = ',',
     .check = CheckEgressHost},
    {.key = "output-dir",
     .member = &Settings::output_dir,
     .scope = Scope::kServer,
     .doc = "Name of the directory whose files /execute hands back",
     .env = {"SANDBOX_OUTPUT_DIR"},
     .check = CheckDirectoryName},
    {.key = "base-dir",
     .member = &Settings::base_dir,
     .scope = Scope::kServer,
     .doc =
         "Directory of the Kubernetes runtime API, in which commands run; where there is none, a "
         "private one takes its place, in memory if polybox may mount one",
     .env = {"SANDBOX_BASE_DIR"}},
    {.key = "base-dir-size",
     .member = &Settings::base_dir_size,
     .scope = Scope::kServer,
     .doc = "How much room the files in `base-dir` may take",
     .smallest = 1},
    {.key = "base-dir-files",
     .member = &Settings::base_dir_files,
     .scope = Scope::kServer,
     .doc = "How many files and directories `base-dir` may hold",
     .smallest = 1,
     .largest = 100000000},
    {.key = "command-timeout",
     .member = &Settings::command_timeout,
     .scope = Scope::kServer,
     .doc = "How many seconds a command of the Kubernetes runtime API may run; what is not a "
            "number above 0 is warned of and counts as 300",
     .env = {"SANDBOX_EXEC_TIMEOUT_SECONDS"}},
    {.key = "metrics",
     .member = &Settings::metrics,
     .scope = Scope::kServer,
     .doc = "Whether /metrics answers"},
    {.key = "max-body-size",
     .member = &Settings::max_body_size,
     .scope = Scope::kServer,
     .doc = "Largest body of a request to /v1/run",
     .smallest = 1,
     .bare_number = true},
    {.key = "max-files",
     .member = &Settings::max_files,
     .scope = Scope::kServer,
     .doc = "How many files a request to /v1/run may bring",
     .smallest = 1},
    {.key = "max-file-size",
     .member = &Settings::max_file_size,
     .scope = Scope::kServer,
     .doc = "Largest file of a request to /v1/run",
     .smallest = 1,
     .bare_number = true},
    {.key = "max-stdin-size",
     .member = &Settings::max_stdin_size,
     .scope = Scope::kServer,
     .doc = "Largest input of a request to /v1/run",
     .smallest = 1,
     .bare_number = true},
    {.key = "output-limit",
     .member = &Settings::output_limit,
     .scope = Scope::kServer,
     .doc = "How much a step of /v1/run may write; more ends it",
     .smallest = 1,
     .bare_number = true},
    {.key = "run-timeout",
     .member = &Settings::run_timeout,
     .scope = Scope::kServer,
     .doc = "How long a program of /v1/run may run",
     .smallest = 1,
     .bare_number = true},
    {.key = "compile-timeout",
     .member = &Settings::compile_timeout,
     .scope = Scope::kServer,
     .doc = "How long a compiler of /v1/run may run",
     .smallest = 1,
     .bare_number = true},
    {.key = "max-concurrency",
     .member = &Settings::max_concurrency,
     .scope = Scope::kServer,
     .doc = "How many requests to /v1/run are executed at once",
     .smallest = 1,
     .largest = 4096},
    {.key = "max-queue-size",
     .member = &Settings::max_queue_size,
     .scope = Scope::kServer,
     .doc = "How many requests to /v1/run may wait for their turn",
     .largest = 100000},
    {.key = "queue-timeout",
     .member = &Settings::queue_timeout,
     .scope = Scope::kServer,
     .doc = "How long a request to /v1/run may wait for its turn",
     .smallest = 1,
     .bare_number = true},
};

struct Shown {
  char separator;

  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(Bytes value) const { return FormatBytes(value); }
  std::string operator()(Duration value) const { return FormatDuration(value); }
  std::string operator()(const std::vector<std::string>& value) const {
    return fmt::format("{}", fmt::join(value, std::string_view(&separator, 1)));
  }
};

struct Form {
  std::string_view item;

  std::string operator()(std::string Settings::*) const { return "TEXT"; }
  std::string operator()(std::int64_t Settings::*) const { return "NUMBER"; }
  std::string operator()(bool Settings::*) const { return "true|false"; }
  std::string operator()(Bytes Settings::*) const { return "SIZE"; }
  std::string operator()(Duration Settings::*) const { return "TIME"; }
  std::string operator()(std::vector<std::string> Settings::*) const { return std::string(item); }
};

}  // namespace

std::span<const Setting> AllSettings() {
  return kRows;
}

const Setting* FindSetting(std::string_view key) {
  const auto found = std::ranges::find(kRows, key, &Setting::key);
  return found == kRows.end() ? nullptr : &*found;
}

std::vector<std::string_view> SettingKeys() {
  std::vector<std::string_view> keys;
  for (const Setting& setting : kRows) keys.push_back(setting.key);
  return keys;
}

std::string EnvironmentName(const Setting& setting) {
  std::string name = "POLYBOX_";
  for (const char c : setting.key) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string ShowValue(const Settings& settings, const Setting& setting) {
  return std::visit([&](auto member) { return Shown{setting.separator}(settings.*member); },
                    setting.member);
}

std::string ValueForm(const Setting& setting) {
  if (!setting.choices.empty()) return fmt::format("{}", fmt::join(setting.choices, "|"));
  return std::visit(Form{setting.item}, setting.member);
}

}  // namespace polybox::config
