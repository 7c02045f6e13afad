// The languages that this process knows: the built-in files, then each directory of
// --languages-dir. A later file replaces an earlier one with the same id. Immutable once loaded;
// any thread may read it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded_file.h"
#include "base/result.h"
#include "base/units.h"
#include "languages/language.h"

namespace polybox::languages {

/// An operator's memory limits for all languages. 0 leaves the limits of the language files.
struct MemoryLimits {
  Bytes run;
  Bytes compile;
};

class Registry {
 public:
  /// Loads all files. `builtin` are files such as BuiltinFiles() returns. `directories` are read in
  /// order; every *.toml file in them is a language. An error lists the problems of all files.
  static Result<Registry> Load(std::span<const EmbeddedFile> builtin,
                               const std::vector<std::string>& directories,
                               const MemoryLimits& memory = {});

  /// All languages, sorted by id.
  const std::vector<Language>& all() const { return languages_; }
  /// Finds a language by id or alias, ignoring case. Returns null when there is none.
  const Language* Find(std::string_view name) const;

 private:
  explicit Registry(std::vector<Language> languages) : languages_(std::move(languages)) {}

  std::vector<Language> languages_;
};

}  // namespace polybox::languages
