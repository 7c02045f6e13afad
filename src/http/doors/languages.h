// The facts about an available language that doors need. This is plain data, so doors can be tested
// without toolchains.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/catalog.h"
#include "languages/language.h"
#include "launch/launch.h"

namespace polybox::http {

struct LanguageFacts {
  std::string id;
  std::string name;
  /// Other names, including the name of the language's mode.
  std::vector<std::string> aliases;
  /// File name extensions, with the dot.
  std::vector<std::string> extensions;
  /// The programs that the language needs. Languages with the same programs belong to one mode.
  std::vector<std::string> binaries;
  /// The version that the toolchain reports, in one line.
  std::string version;
  std::string entry_file;
  /// Whether the entry file has that name even if the request gives it another name.
  bool entry_is_fixed = false;
  std::vector<std::string> restricted_files;
  bool compiled = false;
  languages::Limits run_limits;
  /// The names of packages that programs can import. If these are not known: the packages that the
  /// language file installs.
  std::vector<std::string> packages;
};

LanguageFacts FactsOf(const launch::Installation& installation);

/// Returns the name of a requirement without its version, as for "lodash@4.18.1", "csv:3.3.5" and
/// "numpy==2.1".
std::string PackageName(std::string_view requirement);

/// Returns a JSON list of the ids.
std::string IdsAsJson(const std::vector<LanguageFacts>& languages);

/// Finds a language by id or another name, in any case. Returns null when no such language runs on
/// this server.
const LanguageFacts* FindLanguage(const std::vector<LanguageFacts>& languages,
                                  std::string_view name);

}  // namespace polybox::http
