#include "http/doors/languages.h"

#include <algorithm>

#include "http/doors/go_json/writer.h"

namespace polybox::http {
namespace {

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

/// Compares ASCII letters in any case. Ids and aliases of languages have no other letters.
bool SameInAnyCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, Lower, Lower);
}

std::string FirstLine(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

LanguageFacts FactsOf(const launch::Installation& installation) {
  const languages::Language& language = installation.language;
  LanguageFacts facts{.id = language.id,
                      .name = language.name,
                      .aliases = language.aliases,
                      .extensions = language.extensions,
                      .binaries = language.toolchain.binaries,
                      .version = FirstLine(installation.toolchain.version),
                      .entry_file = language.entry.file,
                      .entry_is_fixed = language.entry.rule == languages::EntryRule::kFixed,
                      .restricted_files = language.restricted_files,
                      .compiled = language.compile.has_value(),
                      .run_limits = language.run.limits,
                      .packages = {}};
  if (language.mode) facts.aliases.push_back(language.mode->name);
  if (!installation.packages.empty()) {
    for (const std::string& package : language.packages->preinstalled) {
      facts.packages.push_back(PackageName(package));
    }
  }
  return facts;
}

std::string PackageName(std::string_view requirement) {
  // The search starts at the second character, because the name of a scoped package begins with @.
  const std::size_t end = requirement.find_first_of("@:=<>~!;[ ", 1);
  return std::string(requirement.substr(0, end));
}

std::string IdsAsJson(const std::vector<LanguageFacts>& languages) {
  JsonWriter json;
  json.BeginArray();
  for (const LanguageFacts& language : languages) json.String(language.id);
  json.EndArray();
  return std::move(json).Take();
}

const LanguageFacts* FindLanguage(const std::vector<LanguageFacts>& languages,
                                  std::string_view name) {
  const auto named = [&](const std::string& other) { return SameInAnyCase(other, name); };
  const auto found = std::ranges::find_if(languages, [&](const LanguageFacts& language) {
    return named(language.id) || std::ranges::any_of(language.aliases, named);
  });
  return found == languages.end() ? nullptr : &*found;
}

}  // namespace polybox::http
