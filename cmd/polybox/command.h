// A subcommand of the polybox program: its flags and what it does. One file per subcommand defines
// one of these; the table in main.cc lists them.
#pragma once

#include <functional>
#include <string>

#include "config/load.h"
#include "terminal.h"

namespace CLI {
class App;
}

namespace polybox::cmd {

/// Exit codes of the program itself.
enum ExitCode {
  kSuccess = 0,
  kFailure = 1,  ///< It was asked right and could not do it.
  kUsage = 2,    ///< It was asked wrong: a flag, a setting, a language file.
};

struct Context {
  const config::Loaded& config;
  const Terminal& out;
  const Terminal& err;
  /// The program's own command line, for what describes it (completion).
  const CLI::App& app;
};

struct Subcommand {
  const char* name;
  const char* doc;
  /// Adds the subcommand's own flags to its app; may be empty.
  std::function<void(CLI::App&)> add_flags;
  std::function<int(const Context&)> run;
};

Subcommand CompletionCommand();
Subcommand ConfigCommand();
Subcommand DocsCommand();
Subcommand DoctorCommand();
Subcommand LanguagesCommand();
Subcommand PreinstallCommand();
Subcommand VersionCommand();

}  // namespace polybox::cmd
