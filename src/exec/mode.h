// Chooses the mode of `POST /execute`: the language that runs when a request names none. The
// operator names the mode; otherwise it is the first mode whose runtime exists, in the order that
// the language files give. Used at the start of the server. Keeps no state; only looks up programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "languages/language.h"
#include "languages/toolchain.h"

namespace polybox::exec {

/// A language that has a mode.
struct ModeCandidate {
  /// The name of the mode.
  std::string mode;
  /// The id of its language.
  std::string language;
  /// The program whose presence on PATH means that the runtime exists.
  std::string command;
  /// Whether the program is on PATH.
  bool found = false;
  /// Why the language does not run on this host although the program exists.
  std::optional<Error> missing;
};

/// Returns the languages that have a mode, in the order of detection. `path` has the format of
/// $PATH.
std::vector<ModeCandidate> ModeCandidates(const std::vector<languages::Language>& all,
                                          const languages::Toolchains& toolchains,
                                          const std::string& path);

/// Returns the mode `wanted`, or the first one that runs if `wanted` is "". The server does not
/// start after an error.
Result<ModeCandidate> ChooseMode(std::string_view wanted,
                                 const std::vector<ModeCandidate>& candidates);

}  // namespace polybox::exec
