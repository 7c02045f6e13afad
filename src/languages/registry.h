// The set of languages this process knows: the built-in files, then each directory of
// --languages-dir, where a later file replaces an earlier one of the same id. Immutable once
// loaded; any thread may read it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded_file.h"
#include "base/result.h"
#include "languages/language.h"

namespace polybox::languages {

class Registry {
 public:
  /// `builtin` are files like BuiltinFiles(); `directories` are read in order, every *.toml in
  /// each.
  static Result<Registry> Load(std::span<const EmbeddedFile> builtin,
                               const std::vector<std::string>& directories);

  /// By id, in alphabetical order.
  const std::vector<Language>& all() const { return languages_; }
  /// By id or alias, in any case; null when there is none.
  const Language* Find(std::string_view name) const;

 private:
  explicit Registry(std::vector<Language> languages) : languages_(std::move(languages)) {}

  std::vector<Language> languages_;
};

}  // namespace polybox::languages
