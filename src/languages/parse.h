// Reads one language file. The only place that knows the keys: languages/README.md documents them
// and a test compares the two.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "languages/language.h"

namespace polybox::languages {

/// The limits that hold where a language file names none.
struct DefaultLimits {
  Limits run;
  Limits compile;
  /// Of installers.
  Limits packages;
};

/// Reads a `defaults.toml` over `limits`: a key that is not there keeps its value.
Status ParseDefaults(std::string_view text, const std::string& file, DefaultLimits& limits);

/// Every problem of the file is in the error, one per line: `file:line: ...`.
Result<Language> ParseLanguage(std::string_view text, const std::string& file,
                               const DefaultLimits& defaults);

/// The path of every key a language file may hold, such as "run.limits.memory".
std::vector<std::string> LanguageFileKeys();

/// The names that `parser` may have: the output formats that verification reads.
const std::vector<std::string_view>& ParserNames();

}  // namespace polybox::languages
