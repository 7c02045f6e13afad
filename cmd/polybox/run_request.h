// Turns the options of `polybox run` into a request of the engine.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "exec/program_files.h"
#include "exec/request.h"
#include "limits/table.h"

namespace polybox::cmd {

/// The values of the options. A shared object, because the command line parser fills it after the
/// options are defined.
struct RunFlags {
  std::vector<std::string> files;
  std::vector<std::string> args;
  std::string entry;
  std::string language;
  std::string input;
  /// The values of the flags that the rows of limits::kLimits have; "" if not given.
  std::array<std::string, limits::kLimits.size()> limits;
  std::vector<std::string> requirements;
  std::vector<std::string> requirements_files;
  std::string install_timeout;
  std::vector<std::string> env;
  std::string output;
  bool overwrite = false;
  bool as_json = false;
  bool warm = false;
};

/// Returns the request for a program (exec::Program) with these files. An error is of kind kInvalid
/// or names a file that cannot be read.
Result<exec::Request> RequestOf(const RunFlags& flags, const languages::Language& language,
                                std::vector<jail::InputFile> files);

/// Returns the flag that raises the limit which ended a step; "" when the flag was given or there
/// is none.
std::string Advice(const RunFlags& flags, jail::End end);

}  // namespace polybox::cmd
