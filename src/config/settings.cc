#include "config/settings.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "net/address.h"
#include "net/egress_policy.h"
#include "net/site.h"
#include "obs/span_exporter.h"
#include "secrets/matcher.h"

namespace polybox::config {
namespace {

using Complaint = std::optional<std::string>;

/// Checks the form only. Whether the host exists is found out when the server listens.
Complaint CheckAddress(const std::string& address) {
  const std::string port = net::SplitHostPort(address).value_or(net::HostPortText()).port;
  const bool number = !port.empty() && port.size() <= 5 &&
                      std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  if (number && std::stoi(port) <= 65535) return std::nullopt;
  return "expected HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080";
}

/// Checks the name of a directory inside the working directory of a run. With a slash the name
/// could lead out of it.
Complaint CheckDirectoryName(const std::string& name) {
  const bool plain =
      !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
  return plain ? std::nullopt : Complaint("expected a plain directory name without /");
}

/// The next five functions leave the rules to the code that uses the values, so that both agree.
Complaint CheckEgressHost(const std::string& entry) {
  std::string complaint = net::ComplaintAboutEntry(entry);
  return complaint.empty() ? std::nullopt : Complaint(std::move(complaint));
}

Complaint CheckAllowedHost(const std::string& entry) {
  std::string complaint = net::ComplaintAboutHost(entry);
  return complaint.empty() ? std::nullopt : Complaint(std::move(complaint));
}

Complaint CheckAllowedOrigin(const std::string& entry) {
  std::string complaint = net::ComplaintAboutOrigin(entry);
  return complaint.empty() ? std::nullopt : Complaint(std::move(complaint));
}

Complaint CheckScrubPattern(const std::string& entry) {
  const Result<secrets::Pattern> pattern = secrets::ParsePattern(entry);
  return pattern.ok() ? std::nullopt : Complaint(pattern.error().message());
}

Complaint CheckCollector(const std::string& url) {
  const Result<obs::CollectorUrl> collector = obs::ParseCollectorUrl(url);
  return collector.ok() ? std::nullopt : Complaint(collector.error().message());
}

// The table of settings. Its initialization is dynamic, so it may only be read after main() has
// begun.
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
            "given several times, later ones win"},
    {.key = "cache-dir",
     .member = &Settings::cache_dir,
     .scope = Scope::kEverywhere,
     .doc = "Directory for caches (toolchain probes, packages, compiled programs)",
     .default_doc = "/var/cache/polybox as root, else polybox in $XDG_CACHE_HOME or ~/.cache"},
    {.key = "packages-dir",
     .member = &Settings::packages_dir,
     .scope = Scope::kEverywhere,
     .doc = "Directory of preinstalled packages, with one subdirectory per language",
     .default_doc = "/var/lib/polybox/packages as root, else polybox/packages in $XDG_DATA_HOME "
                    "or ~/.local/share"},
    {.key = "log-level",
     .member = &Settings::log_level,
     .scope = Scope::kEverywhere,
     .doc = "Lowest level of the log lines that are written",
     .choices = {"debug", "info", "warn", "error"}},
    {.key = "log-format",
     .member = &Settings::log_format,
     .scope = Scope::kEverywhere,
     .doc = "Format of log lines; auto means text on a terminal and JSON otherwise",
     .choices = {"auto", "text", "json"}},
    {.key = "isolation",
     .member = &Settings::isolation,
     .scope = Scope::kEverywhere,
     .doc = "Isolation grade in which programs run; auto means the strongest grade that the "
            "host supports, but never none",
     .choices = {"auto", "full", "rootless", "landlock", "none"}},
    {.key = "min-isolation",
     .member = &Settings::min_isolation,
     .scope = Scope::kEverywhere,
     .doc = "Weakest isolation grade in which programs may run; where only a weaker grade is "
            "possible, polybox refuses to run them",
     .choices = {"full", "rootless", "landlock", "none"}},
    {.key = "compile-cache",
     .member = &Settings::compile_cache,
     .scope = Scope::kEverywhere,
     .doc = "Whether compiled programs are kept, so that the same program is not compiled again",
     .choices = {"on", "off"}},
    {.key = "compile-cache-size",
     .member = &Settings::compile_cache_size,
     .scope = Scope::kEverywhere,
     .doc = "Space for compiled programs; those that were not used for longest are removed "
            "first"},
    {.key = "compile-cache-dir",
     .member = &Settings::compile_cache_dir,
     .scope = Scope::kEverywhere,
     .doc = "Directory for compiled programs; a user who can write to it decides what others "
            "run",
     .default_doc = "compiled in `cache-dir`"},
    {.key = "guest-egress",
     .member = &Settings::guest_egress,
     .scope = Scope::kEverywhere,
     .doc = "Host that programs may reach, through a proxy that HTTPS_PROXY names; the notation "
            "is that of `egress-allow`; an address that is not public is reached only if the "
            "list has the address itself, not just its name; may be given several times",
     .default_doc = "none: programs have no network at all",
     .item = "HOST",
     .separator = ',',
     .check = CheckEgressHost},
    {.key = "run-memory",
     .member = &Settings::run_memory,
     .scope = Scope::kServer,
     .doc = "Memory limit of a program, which replaces that of its language file; a request may "
            "set a lower limit, and `polybox run --memory` any limit",
     .default_doc = "the language's own limit",
     .smallest = 1},
    {.key = "compile-memory",
     .member = &Settings::compile_memory,
     .scope = Scope::kEverywhere,
     .doc = "Memory limit of a compile step, which replaces that of the language file",
     .default_doc = "the language's own limit",
     .smallest = 1},
    {.key = "listen",
     .member = &Settings::listen,
     .scope = Scope::kServer,
     .doc = "Address that the server listens on",
     .check = CheckAddress},
    {.key = "port",
     .member = &Settings::port,
     .scope = Scope::kServer,
     .doc = "Port that replaces that of `listen`, unless `listen` comes from a source with "
            "higher precedence",
     .default_doc = "the port of `listen`",
     .env = {"SANDBOX_PORT", "PORT"},
     .smallest = 1,
     .largest = 65535},
    {.key = "unix-socket",
     .member = &Settings::unix_socket,
     .scope = Scope::kServer,
     .doc = "Path of a Unix socket on which the server listens too; only the user of the server "
            "may connect"},
    {.key = "runtime-port",
     .member = &Settings::runtime_port,
     .scope = Scope::kServer,
     .doc = "Second port, for clients of the Kubernetes runtime API, which expect 8888; 0 for none",
     .largest = 65535},
    {.key = "token-file",
     .member = &Settings::token_file,
     .scope = Scope::kServer,
     .doc = "File with the accepted tokens, one per line; a client sends one as Authorization: "
            "Bearer TOKEN or as X-Polybox-Token"},
    {.key = "allowed-hosts",
     .member = &Settings::allowed_hosts,
     .scope = Scope::kServer,
     .doc = "Name that a request may have in its Host header, besides the loopback names, as "
            "HOST or *.SUFFIX, with :PORT for that port alone; on a loopback address the server "
            "refuses all other names, elsewhere only if this is set; may be given several times",
     .default_doc = "none",
     .item = "HOST",
     .separator = ',',
     .check = CheckAllowedHost},
    {.key = "allowed-origins",
     .member = &Settings::allowed_origins,
     .scope = Scope::kServer,
     .doc = "Origin of web pages that may send requests, besides the server's own, such as "
            "https://app.example.org; their browsers get CORS headers; requests from other "
            "origins are refused; may be given several times",
     .default_doc = "none",
     .item = "ORIGIN",
     .separator = ',',
     .check = CheckAllowedOrigin},
    {.key = "insecure",
     .member = &Settings::insecure,
     .scope = Scope::kServer,
     .doc = "Whether the server may listen without a token on an address that other machines "
            "reach"},
    {.key = "max-connections",
     .member = &Settings::max_connections,
     .scope = Scope::kServer,
     .doc = "Number of connections that may be open at once; further ones wait to be accepted",
     .smallest = 1,
     .largest = 100000},
    {.key = "max-body-memory",
     .member = &Settings::max_body_memory,
     .scope = Scope::kServer,
     .doc = "Memory for the bodies of all requests that are not answered yet; further requests "
            "get 503 with Retry-After",
     .smallest = 1},
    {.key = "header-timeout",
     .member = &Settings::header_timeout,
     .scope = Scope::kServer,
     .doc = "Time in which a client must send the head of a request",
     .smallest = 1},
    {.key = "request-timeout",
     .member = &Settings::request_timeout,
     .scope = Scope::kServer,
     .doc = "Time in which a client must send a whole request",
     .smallest = 1},
    {.key = "idle-timeout",
     .member = &Settings::idle_timeout,
     .scope = Scope::kServer,
     .doc = "Time after which a connection without a request is closed",
     .smallest = 1},
    {.key = "drain-timeout",
     .member = &Settings::drain_timeout,
     .scope = Scope::kServer,
     .doc = "Time that requests have to finish when the server is told to end; then they are "
            "cancelled"},
    {.key = "mode",
     .member = &Settings::mode,
     .scope = Scope::kServer,
     .doc = "Language of a request to /execute that names none: python, golang, node or shell",
     .default_doc = "the first of those whose toolchain is found, in that order",
     .env = {"SANDBOX_MODE"}},
    {.key = "max-timeout",
     .member = &Settings::max_timeout,
     .scope = Scope::kServer,
     .doc = "Longest timeout of a request to /execute; a request that asks for more gets this "
            "one",
     .smallest = 1},
    {.key = "max-concurrent",
     .member = &Settings::max_concurrent,
     .scope = Scope::kServer,
     .doc = "Number of programs that may run at once",
     .default_doc = "twice the cores, at least 3",
     .env = {"SANDBOX_MAX_CONCURRENT"},
     .smallest = 1,
     .largest = 4096},
    {.key = "queue",
     .member = &Settings::queue,
     .scope = Scope::kServer,
     .doc = "Number of requests to /execute that may wait for a free place",
     .default_doc = "50, and 0 when SANDBOX_MAX_CONCURRENT is set",
     .largest = 100000},
    {.key = "warm",
     .member = &Settings::warm,
     .scope = Scope::kServer,
     .doc = "Whether interpreters are started before a program for them arrives",
     .choices = {"on", "off"}},
    {.key = "preload",
     .member = &Settings::preload,
     .scope = Scope::kServer,
     .doc = "Modules that an interpreter loads when it is started ahead (`warm`), besides the "
            "usual ones: python=numpy,pandas; the log names modules that cannot be loaded; may "
            "be given several times",
     .item = "LANGUAGE=MODULES",
     .separator = ','},
    {.key = "warm-slots",
     .member = &Settings::warm_slots,
     .scope = Scope::kServer,
     .doc = "Number of jails of the mode's language that are always kept ready",
     .largest = 128},
    {.key = "warm-memory",
     .member = &Settings::warm_memory,
     .scope = Scope::kServer,
     .doc = "Memory for all jails that wait for a request; above it some of them are ended"},
    {.key = "reuse",
     .member = &Settings::reuse,
     .scope = Scope::kServer,
     .doc = "Whether a session may get the namespaces and scratch directories of an earlier "
            "session that has not changed them; off makes new ones for each session, which "
            "takes about a millisecond",
     .choices = {"on", "off"}},
    {.key = "python-index",
     .member = &Settings::python_index,
     .scope = Scope::kServer,
     .doc = "URL of the index from which Python packages are installed",
     .default_doc = "what the installer uses by itself",
     .env = {"SANDBOX_PYTHON_INDEX"}},
    {.key = "node-registry",
     .member = &Settings::node_registry,
     .scope = Scope::kServer,
     .doc = "URL of the registry from which Node packages are installed",
     .default_doc = "what the installer uses by itself"},
    {.key = "npm-scripts",
     .member = &Settings::npm_scripts,
     .scope = Scope::kServer,
     .doc = "Whether the installation of Node packages runs their scripts, in the installer's "
            "jail",
     .choices = {"off", "on"}},
    {.key = "requirements-for",
     .member = &Settings::requirements_for,
     .scope = Scope::kServer,
     .doc = "Language whose `requirements` are installed, although they are ignored by default: "
            "go; may be given several times",
     .default_doc = "none",
     .item = "LANGUAGE",
     .separator = ','},
    {.key = "package-cache-size",
     .member = &Settings::package_cache_size,
     .scope = Scope::kServer,
     .doc = "Space for installed package sets; those that were not used for longest are removed "
            "first"},
    {.key = "egress-allow",
     .member = &Settings::egress_allow,
     .scope = Scope::kServer,
     .doc = "Host that package installers may reach, as HOST or *.SUFFIX, with :PORT for "
            "another port than 443, or the word public for port 443 of every public address; "
            "may be given several times",
     .item = "HOST",
     .separator = ',',
     .check = CheckEgressHost},
    {.key = "output-dir",
     .member = &Settings::output_dir,
     .scope = Scope::kServer,
     .doc = "Name of the directory whose files /execute returns",
     .env = {"SANDBOX_OUTPUT_DIR"},
     .check = CheckDirectoryName},
    {.key = "base-dir",
     .member = &Settings::base_dir,
     .scope = Scope::kServer,
     .doc = "Directory of the Kubernetes runtime API, in which commands run; if it does not "
            "exist, polybox makes a private one, in memory if polybox may mount that",
     .env = {"SANDBOX_BASE_DIR"}},
    {.key = "base-dir-size",
     .member = &Settings::base_dir_size,
     .scope = Scope::kServer,
     .doc = "Space for the files in `base-dir`",
     .smallest = 1},
    {.key = "base-dir-files",
     .member = &Settings::base_dir_files,
     .scope = Scope::kServer,
     .doc = "Number of files and directories that `base-dir` may hold",
     .smallest = 1,
     .largest = 100000000},
    {.key = "command-timeout",
     .member = &Settings::command_timeout,
     .scope = Scope::kServer,
     .doc = "Time limit of a command of the Kubernetes runtime API; a bad value of "
            "SANDBOX_EXEC_TIMEOUT_SECONDS causes a warning and counts as not set",
     .env = {"SANDBOX_EXEC_TIMEOUT_SECONDS"},
     .env_is_lenient = true,
     .smallest = 1},
    {.key = "command-memory",
     .member = &Settings::command_memory,
     .scope = Scope::kServer,
     .doc = "Memory limit of a command of the Kubernetes runtime API; the size of a `base-dir` "
            "that lies in memory is added",
     .smallest = 1},
    {.key = "metrics",
     .member = &Settings::metrics,
     .scope = Scope::kServer,
     .doc = "Whether the server answers /metrics"},
    {.key = "max-body-size",
     .member = &Settings::max_body_size,
     .scope = Scope::kServer,
     .doc = "Largest body of a request to /v1/run",
     .smallest = 1},
    {.key = "max-files",
     .member = &Settings::max_files,
     .scope = Scope::kServer,
     .doc = "Number of files that a request to /v1/run may have",
     .smallest = 1},
    {.key = "max-file-size",
     .member = &Settings::max_file_size,
     .scope = Scope::kServer,
     .doc = "Largest file of a request to /v1/run",
     .smallest = 1},
    {.key = "max-stdin-size",
     .member = &Settings::max_stdin_size,
     .scope = Scope::kServer,
     .doc = "Largest standard input of a request to /v1/run",
     .smallest = 1},
    {.key = "output-limit",
     .member = &Settings::output_limit,
     .scope = Scope::kServer,
     .doc = "Output limit of a step of /v1/run; a step that writes more is ended",
     .smallest = 1},
    {.key = "run-timeout",
     .member = &Settings::run_timeout,
     .scope = Scope::kServer,
     .doc = "Time limit of a program of /v1/run",
     .smallest = 1},
    {.key = "compile-timeout",
     .member = &Settings::compile_timeout,
     .scope = Scope::kServer,
     .doc = "Time limit of a compiler of /v1/run",
     .smallest = 1},
    {.key = "max-concurrency",
     .member = &Settings::max_concurrency,
     .scope = Scope::kServer,
     .doc = "Number of requests to /v1/run that may be executed at once",
     .smallest = 1,
     .largest = 4096},
    {.key = "max-queue-size",
     .member = &Settings::max_queue_size,
     .scope = Scope::kServer,
     .doc = "Number of requests to /v1/run that may wait for a free place",
     .largest = 100000},
    {.key = "queue-timeout",
     .member = &Settings::queue_timeout,
     .scope = Scope::kServer,
     .doc = "Time that a request to /v1/run may wait for a free place",
     .smallest = 1},
    {.key = "workspace",
     .member = &Settings::workspace,
     .scope = Scope::kAgents,
     .doc = "Directory in which the tools work, as an absolute path"},
    {.key = "workspaces",
     .member = &Settings::workspaces,
     .scope = Scope::kAgents,
     .doc = "Several such directories in place of `workspace`, as NAME=DIR,NAME=DIR; every tool "
            "then takes the name as its argument `workspace`"},
    {.key = "readonly",
     .member = &Settings::readonly,
     .scope = Scope::kAgents,
     .doc = "Offers only tools that change nothing"},
    {.key = "workspace-egress",
     .member = &Settings::workspace_egress,
     .scope = Scope::kAgents,
     .doc = "Host that commands in a workspace may reach, through a proxy that HTTPS_PROXY names; "
            "the notation is that of `guest-egress`; the word registries stands for the package "
            "registries that npm, pip, uv, go, cargo and Maven use on this machine; may be given "
            "several times",
     .default_doc = "none",
     .item = "HOST",
     .separator = ',',
     .check = CheckEgressHost},
    {.key = "protected-paths",
     .member = &Settings::protected_paths,
     .scope = Scope::kAgents,
     .doc = "Paths in a workspace that no tool may change, because programs outside execute or "
            "trust them: default is the list `policies/protected-paths.toml`, off is none, and "
            "paths separated by commas are added to the list"},
    {.key = "created-protected-files",
     .member = &Settings::created_protected_files,
     .scope = Scope::kAgents,
     .doc = "What happens to a file of `protected-paths` that a command makes: with aside it is "
            "renamed to NAME.moved-aside-1, with report it stays; the answer names it in any case",
     .choices = {"aside", "report"}},
    {.key = "workspace-memory",
     .member = &Settings::workspace_memory,
     .scope = Scope::kAgents,
     .doc = "Memory limit of all commands of a workspace together, /tmp included; of each process "
            "where there are no cgroups",
     .smallest = 1},
    {.key = "workspace-processes",
     .member = &Settings::workspace_processes,
     .scope = Scope::kAgents,
     .doc = "Number of processes and threads that the commands of a workspace may have together",
     .smallest = 1},
    {.key = "workspace-tmp",
     .member = &Settings::workspace_tmp,
     .scope = Scope::kAgents,
     .doc = "Size of /tmp of a workspace's commands, which is in memory",
     .smallest = 1},
    {.key = "workspace-idle-time",
     .member = &Settings::workspace_idle_time,
     .scope = Scope::kAgents,
     .doc = "Time after which the jail of a workspace ends in which no process runs; its /tmp goes "
            "with it, and the next command gets a new one. 0 is never"},
    {.key = "workspace-as-root",
     .member = &Settings::workspace_as_root,
     .scope = Scope::kAgents,
     .doc = "Whether commands may run with the host's root uid, without capabilities, if a "
            "workspace belongs to root and its file system cannot map owners; `SECURITY.md` says "
            "what that means"},
    {.key = "secrets-dir",
     .member = &Settings::secrets_dir,
     .scope = Scope::kAgents,
     .doc = "Directory of secrets that agents may read by name, each a file; also a variable "
            "CODEGEN_SANDBOX_SECRET_NAME is such a secret; no command and no other tool gets one"},
    {.key = "scrub",
     .member = &Settings::scrub,
     .scope = Scope::kAgents,
     .doc = "What is removed from the answers of tools: known secrets in any case, with on also "
            "what looks like a token (`policies/secret-shapes.toml`)",
     .choices = {"on", "known"}},
    {.key = "scrub-patterns",
     .member = &Settings::scrub_patterns,
     .scope = Scope::kAgents,
     .doc = "A regular expression (RE2) for more secrets that are removed from answers, with the "
            "name that stands in their place; its first group is the secret, if it has one; may "
            "be given several times, in the variable with a line for each",
     .default_doc = "none",
     .item = "NAME=EXPRESSION",
     .separator = '\n',
     .check = CheckScrubPattern},
    {.key = "audit-log",
     .member = &Settings::audit_log,
     .scope = Scope::kAgents,
     .doc = "File to which a line is appended for each call of a tool and for each secret that an "
            "agent gets: names, sizes, outcome, duration and caller, never arguments or answers"},
    {.key = "otlp-endpoint",
     .member = &Settings::otlp_endpoint,
     .scope = Scope::kAgents,
     .doc = "Collector that gets a span for each call of a tool, by OTLP over HTTP with JSON, as "
            "http://HOST:PORT; a bad value of OTEL_EXPORTER_OTLP_ENDPOINT causes a warning and "
            "counts as not set",
     .env = {"OTEL_EXPORTER_OTLP_ENDPOINT"},
     .env_is_lenient = true,
     .check = CheckCollector},
    {.key = "tools",
     .member = &Settings::tools,
     .scope = Scope::kAgents,
     .doc = "Groups of tools that are offered, separated by commas, or all; `docs/tools.md` lists "
            "them"},
    {.key = "structured-output",
     .member = &Settings::structured_output,
     .scope = Scope::kAgents,
     .doc = "What an answer of a tool holds: both is short text and data, text and structured one "
            "of them, mirror the data and its JSON as text; auto is both for clients that know "
            "data, and text for older ones",
     .choices = {"auto", "both", "text", "structured", "mirror"}},
};

/// Formats the value of a setting as `polybox config` shows it. The text can be given as a flag
/// again.
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

/// Returns the placeholder of a value in --help and in the documentation.
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
