// Reads the command line: which subcommand, its options, and the settings that were given as flags.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "command.h"

namespace polybox::cmd {

struct Parsed {
  /// Null when no subcommand was named.
  const Subcommand* subcommand = nullptr;
  /// Settings given as flags: key and text, in order.
  std::vector<std::pair<std::string, std::string>> settings;
};

/// The help that was asked for; the program then ends well.
struct HelpText {
  std::string text;
};

/// Fills the options of the chosen subcommand. An Error says what was wrong with the command line
/// and what to try.
std::variant<Parsed, HelpText, Error> ParseCommandLine(int argc, char** argv,
                                                       const std::vector<Subcommand>& subcommands);

/// What `polybox --help` prints.
std::string ProgramHelp(const std::vector<Subcommand>& subcommands);

}  // namespace polybox::cmd
