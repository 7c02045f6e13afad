// The JSON output of `polybox run`, for programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/request.h"

namespace polybox::cmd {

/// A file that the program left in its output directory.
struct WrittenFile {
  std::string path;
  std::size_t bytes = 0;
  /// Why the file was not written; "" when it was.
  std::string problem;
};

struct RunReport {
  std::string_view language;
  const exec::Report& report;
  /// The files in the directory of --output.
  const std::vector<WrittenFile>& files;
  /// Files in the given directories that were not passed to the program.
  const std::vector<std::string>& skipped;
  /// The exit code of polybox.
  int exit_code = 0;
};

/// Returns one line of JSON, with numbers without exponents.
std::string ReportJson(const RunReport& report);

}  // namespace polybox::cmd
