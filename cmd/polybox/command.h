// A subcommand of the polybox program: its options and what it does. One file per subcommand
// defines one of these; the table in main.cc lists them. Nothing here knows the library that reads
// the command line (command_line.cc does).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/log.h"
#include "config/load.h"
#include "terminal.h"

namespace polybox::cmd {

/// Exit codes of the program itself.
enum ExitCode {
  kSuccess = 0,
  kFailure = 1,  ///< It was asked right and could not do it.
  kUsage = 2,    ///< It was asked wrong: a flag, a setting, a language file.
};

/// An option of one subcommand. The settings in config/settings.h are flags of every subcommand
/// beside these.
struct Option {
  /// "--json" for a flag, "language" for an argument that is known by its place.
  std::string name;
  std::string doc;
  /// Where the value goes; bool is a switch, a vector takes any number of values.
  std::variant<std::shared_ptr<bool>, std::shared_ptr<std::string>,
               std::shared_ptr<std::vector<std::string>>>
      into;
  /// The words it may be; empty allows any.
  std::vector<std::string> choices = {};
  bool required = false;
};

struct Subcommand;

struct Context {
  const config::Loaded& config;
  const Terminal& out;
  const Terminal& err;
  const log::Logger& log;
  /// All of them, for what describes the program (completion).
  const std::vector<Subcommand>& subcommands;
};

struct Subcommand {
  std::string name;
  std::string doc;
  std::vector<Option> options;
  std::function<int(const Context&)> run;
  /// At the end of its help.
  std::string note = {};
  /// For those who work on polybox: not in --help and not completed.
  bool hidden = false;
  /// Takes the settings of the server as flags too.
  bool takes_server_settings = false;
};

/// The switch `--json` of the subcommands that have one.
Option JsonOption(const std::shared_ptr<bool>& as_json);

Subcommand CompletionCommand();
Subcommand ConfigCommand();
Subcommand DocsCommand();
Subcommand DoctorCommand();
Subcommand LanguagesCommand();
Subcommand PreinstallCommand();
Subcommand RunCommand();
Subcommand ServeCommand();
Subcommand VersionCommand();

}  // namespace polybox::cmd
