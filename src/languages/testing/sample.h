// A small, valid language file for tests.
#pragma once

#include <string>

namespace polybox::languages::testing {

/// Returns the text of the file. Its binary is `sample-run`; a test must put a program of that name
/// on PATH to make the language available.
inline std::string SampleFile(const std::string& id, const std::string& top_lines = "") {
  return "id = \"" + id + "\"\nname = \"Sample\"\nextensions = [\".smp\"]\n" + top_lines + R"(
[toolchain]
binaries = ["sample-run"]
version = ["{executable}", "--version"]
[entry]
file = "main.smp"
[run]
command = ["{executable}", "{entry}"]
[run.limits]
address_space = "1GiB"
open_files = 64
processes = 32
[image]
apt = []
)";
}

}  // namespace polybox::languages::testing
