// What doors need to know of a language that runs here: plain data, so that they can be tested
// without a host.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exec/launch.h"
#include "languages/language.h"

namespace polybox::http {

struct LanguageFacts {
  std::string id;
  std::string name;
  /// Other names, that of its mode among them.
  std::vector<std::string> aliases;
  /// With the dot.
  std::vector<std::string> extensions;
  /// The programs it is made of: languages with the same ones are at home in one mode.
  std::vector<std::string> binaries;
  /// What its toolchain says of itself, in one line.
  std::string version;
  std::string entry_file;
  /// Whether the entry has that name whatever the request calls it.
  bool entry_is_fixed = false;
  std::vector<std::string> restricted_files;
  bool compiled = false;
  languages::Limits run_limits;
  /// Names of the packages that are installed for it.
  std::vector<std::string> packages;
};

LanguageFacts FactsOf(const exec::Installation& installation);

/// "lodash@4.18.1", "csv:3.3.5" and "numpy==2.1" without the version.
std::string PackageName(std::string_view requirement);

/// A list of their ids.
std::string IdsAsJson(const std::vector<LanguageFacts>& languages);

/// By id or another name, in any case; null when it does not run here.
const LanguageFacts* FindLanguage(const std::vector<LanguageFacts>& languages,
                                  std::string_view name);

}  // namespace polybox::http
