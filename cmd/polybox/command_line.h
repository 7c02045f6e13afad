// Parses the command line: the subcommand, its options, and the settings that are given as flags.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "command.h"

namespace polybox::cmd {

struct Parsed {
  /// Null when the command line names no subcommand.
  const Subcommand* subcommand = nullptr;
  /// Settings given as flags: key and text, in their order.
  std::vector<std::pair<std::string, std::string>> settings;
};

/// The help that the user asked for. The program prints it and ends with success.
struct HelpText {
  std::string text;
};

/// A mistake in the command line. The error's fix is a command to try.
struct UsageError {
  /// "polybox", or "polybox" and the subcommand.
  std::string program;
  Error error;

  /// Returns the message and the fix in two lines.
  std::string Text() const;
};

/// Parses the command line and fills the options of the chosen subcommand.
std::variant<Parsed, HelpText, UsageError> ParseCommandLine(
    int argc, char** argv, const std::vector<Subcommand>& subcommands);

/// Returns the output of `polybox --help`.
std::string ProgramHelp(const std::vector<Subcommand>& subcommands);

}  // namespace polybox::cmd
