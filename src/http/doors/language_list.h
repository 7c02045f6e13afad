// GET /languages: all languages that the server knows, whether each runs on this server, and their
// limits.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "exec/catalog.h"
#include "languages/language.h"

namespace polybox::http {

struct ListedLanguage {
  std::string id;
  std::string name;
  std::vector<std::string> aliases;
  std::vector<std::string> extensions;
  /// The name of the language's mode; "" for none.
  std::string mode;
  bool available = false;
  /// The version that the toolchain reports; "" when the language does not run on this server.
  std::string version;
  /// Why the language does not run on this server, and how to fix that.
  std::string reason;
  std::string fix;
  /// The features that this server offers for the language, and those that only its file describes.
  std::vector<std::string_view> supports;
  std::vector<std::string_view> described;
  /// The id of the language that runs a program which this language cannot parse; "" for none.
  std::string fallback;
  std::vector<std::string> packages;
  languages::Limits run_limits;
  std::optional<languages::Limits> compile_limits;
};

/// The operator's settings about languages.
struct ListOptions {
  /// Whether interpreters start before their programs arrive.
  bool warm = false;
  /// The ids of languages whose requirements are installed; by default these requirements are
  /// ignored.
  std::set<std::string> requirements_for = {};
  /// Whether packages can be installed on request. This needs a directory for them, and a jail with
  /// a network for installers.
  bool installs = false;
  /// The directories in which installers are searched, in the format of $PATH.
  std::string path = {};
};

/// Returns the languages, sorted by id.
std::vector<ListedLanguage> ListLanguages(const exec::Catalog& catalog, const ListOptions& options);

/// Returns the answer with its line end. `mode` and `language` are the server's mode and the
/// language that it stands for.
std::string LanguageListJson(const std::vector<ListedLanguage>& languages, std::string_view mode,
                             std::string_view language);

}  // namespace polybox::http
