// Reports an error of a command: text on standard error, and JSON on standard output if the user
// asked for it. Each kind of error has one exit code.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "terminal.h"

namespace polybox::cmd {

/// Returns 2 (usage error) for kInvalid and 1 (failure) for every other kind.
int ExitCodeOf(const Error& error);

struct Complaint {
  const Terminal& out;
  const Terminal& err;
  bool as_json = false;
  /// Replaces the exit code of the error's kind.
  std::optional<int> exit_code = std::nullopt;
  /// Replaces the error's text on standard error; the JSON still has the error.
  std::string_view text = {};
};

/// Prints the error. Returns the exit code.
int Complain(const Complaint& complaint, const Error& error);

}  // namespace polybox::cmd
