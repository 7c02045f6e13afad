// A subcommand of the polybox program: its options and the function that runs it. Each file of a
// subcommand defines one Subcommand; the table in main.cc lists them. Only command_line.cc knows
// the library that parses the command line.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/log.h"
#include "config/load.h"
#include "secrets/environment.h"
#include "terminal.h"

namespace polybox::cmd {

/// Exit codes of the program itself.
enum ExitCode {
  kSuccess = 0,
  kFailure = 1,  ///< The command line was valid, but the command failed.
  kUsage = 2,    ///< A usage error: a bad flag, setting, settings file or language file.
};

/// An option of one subcommand. In addition, the settings in config/settings.h are flags of every
/// subcommand.
struct Option {
  /// "--json" for a flag, "language" for a positional argument.
  std::string name;
  std::string doc;
  /// Where the parser stores the value. A bool is a switch; a vector takes any number of values.
  std::variant<std::shared_ptr<bool>, std::shared_ptr<std::string>,
               std::shared_ptr<std::vector<std::string>>>
      into;
  /// The allowed values; empty allows any.
  std::vector<std::string> choices = {};
  bool required = false;
  /// Takes all words after `--` and no others.
  bool after_dashes = false;
  /// For developers of polybox: neither in --help nor in completion.
  bool hidden = false;
};

struct Subcommand;

/// What a subcommand gets when it runs. All references are valid until run() returns.
struct Context {
  const config::Loaded& config;
  const Terminal& out;
  const Terminal& err;
  const log::Logger& log;
  /// Taken out of the environment before anything else happened.
  const std::vector<secrets::EnvironmentSecret>& secrets;
  /// All subcommands, for code that describes the program (completion).
  const std::vector<Subcommand>& subcommands;
};

struct Subcommand {
  std::string name;
  std::string doc;
  std::vector<Option> options;
  std::function<int(const Context&)> run;
  /// Text at the end of the subcommand's help.
  std::string note = {};
  /// For developers of polybox: neither in --help nor in completion.
  bool hidden = false;
  /// Accepts the settings of the server as flags too.
  bool takes_server_settings = false;
  /// Accepts the settings of the tools of agents as flags too.
  bool takes_agent_settings = false;
};

/// Returns the switch `--json`, for the subcommands that have one.
Option JsonOption(const std::shared_ptr<bool>& as_json);

/// polybox test, lint, typecheck, format and coverage.
std::vector<Subcommand> CheckCommands();
Subcommand CompletionCommand();
Subcommand ConfigCommand();
Subcommand DocsCommand();
Subcommand DoctorCommand();
Subcommand LanguagesCommand();
Subcommand McpCommand();
Subcommand PreinstallCommand();
Subcommand RunCommand();
Subcommand ServeCommand();
Subcommand VersionCommand();

}  // namespace polybox::cmd
