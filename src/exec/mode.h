// The execute dialect's mode: which language POST /execute runs when a request names none. Asked
// for by name, or the first whose runtime is there, in the order of the language files. Pure but
// for looking up programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "languages/language.h"
#include "languages/toolchain.h"

namespace polybox::exec {

struct ModeCandidate {
  std::string mode;
  /// The id of its language.
  std::string language;
  /// The program by which it is recognised.
  std::string command;
  /// Whether the program is on PATH.
  bool found = false;
  /// Why the language does not run here though the program is there.
  std::optional<Error> missing;
};

/// The languages that have a mode, in the order of detection. `path` is as $PATH writes it.
std::vector<ModeCandidate> ModeCandidates(const std::vector<languages::Language>& all,
                                          const languages::Toolchains& toolchains,
                                          const std::string& path);

/// `wanted` is "" for the first that is there. The error is what stops the start.
Result<ModeCandidate> ChooseMode(std::string_view wanted,
                                 const std::vector<ModeCandidate>& candidates);

}  // namespace polybox::exec
