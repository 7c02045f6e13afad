// Reads one language file. Only this code knows the keys, except those of limits, which are in
// limits/table.h. languages/README.md documents all keys, and tests compare. Used by registry.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "languages/language.h"
#include "languages/text_files.h"

namespace polybox::languages {

/// The limits that apply where a language file names none.
struct DefaultLimits {
  Limits run;
  Limits compile;
  /// Limits of installers.
  Limits packages;
};

/// Reads a `defaults.toml` into `limits`. A key that the file lacks keeps its value.
Status ParseDefaults(std::string_view text, const std::string& file, DefaultLimits& limits);

/// Reads a language file. The error lists every problem of the file, one per line: `file:line:
/// ...`. `files` are the files that the language file may name.
Result<Language> ParseLanguage(std::string_view text, const std::string& file,
                               const DefaultLimits& defaults, const TextFiles& files = {});

/// Returns the path of every key that a language file may contain, such as "run.limits.memory".
std::vector<std::string> LanguageFileKeys();

/// Returns the values that the key `parser` may have: the output formats of verification tools.
const std::vector<std::string_view>& ParserNames();

}  // namespace polybox::languages
