#include "http/doors/language_list.h"

#include <algorithm>

#include "http/doors/languages.h"
#include "json/write.h"
#include "limits/table.h"
#include "packages/jail_installer.h"

namespace polybox::http {
namespace {

using languages::Language;
using languages::Limits;

/// Returns whether this server offers the feature `word`, which the language file describes.
bool IsSupported(std::string_view word, const launch::Installation& installation,
                 const exec::Catalog& catalog, const ListOptions& options) {
  const Language& language = installation.language;
  if (word == "warm") return options.warm;
  if (word == "preinstalled") return !installation.packages.empty();
  if (word == "fallback") return catalog.Find(language.fallback->language) != nullptr;
  if (word != "packages") return true;
  if (!options.installs || !packages::HasInstaller(installation, options.path)) return false;
  const auto& requests = language.packages->requests;
  return !requests || !requests->opt_in || options.requirements_for.contains(language.id);
}

void AddAvailable(const launch::Installation& installation, const exec::Catalog& catalog,
                  const ListOptions& options, ListedLanguage& listed) {
  LanguageFacts facts = FactsOf(installation);
  listed.available = true;
  listed.version = std::move(facts.version);
  listed.packages = std::move(facts.packages);
  std::erase_if(listed.supports, [&](std::string_view word) {
    return !IsSupported(word, installation, catalog, options);
  });
  const bool falls_back = std::ranges::count(listed.supports, "fallback") != 0;
  if (falls_back) listed.fallback = installation.language.fallback->language;
}

json::Value TextOrNull(const std::string& text) {
  return text.empty() ? json::Value(nullptr) : json::Text(text);
}

json::Object ToJson(const Limits& limits) {
  json::Object object;
  for (const limits::Limit* limit : limits::InOrderOf(&limits::Limit::listed)) {
    object[limit->listed.name] = limits::NumberOf(*limit, limits);
  }
  return object;
}

/// Clients see the members in this order.
json::Object ToJson(const ListedLanguage& language) {
  json::Object limits = {{"compile", nullptr}, {"run", ToJson(language.run_limits)}};
  if (language.compile_limits) limits["compile"] = ToJson(*language.compile_limits);
  return {{"id", json::Text(language.id)},
          {"name", json::Text(language.name)},
          {"aliases", json::Texts(language.aliases)},
          {"extensions", json::Texts(language.extensions)},
          {"mode", TextOrNull(language.mode)},
          {"available", language.available},
          {"version", TextOrNull(language.version)},
          {"reason", TextOrNull(language.reason)},
          {"fix", TextOrNull(language.fix)},
          {"supports", json::Texts(language.supports)},
          {"described", json::Texts(language.described)},
          {"fallback", TextOrNull(language.fallback)},
          {"preinstalled_packages", json::Texts(language.packages)},
          {"limits", std::move(limits)}};
}

}  // namespace

std::vector<ListedLanguage> ListLanguages(const exec::Catalog& catalog,
                                          const ListOptions& options) {
  std::vector<ListedLanguage> all;
  for (const Language& language : catalog.registry().all()) {
    ListedLanguage listed = {.id = language.id,
                             .name = language.name,
                             .aliases = language.aliases,
                             .extensions = language.extensions,
                             .mode = language.mode ? language.mode->name : "",
                             .available = false,
                             .version = {},
                             .reason = {},
                             .fix = {},
                             .supports = Capabilities(language),
                             .described = Described(language),
                             .fallback = {},
                             .packages = {},
                             .run_limits = language.run.limits,
                             .compile_limits = {}};
    if (language.compile) listed.compile_limits = language.compile->limits;
    if (const launch::Installation* installation = catalog.Find(language.id)) {
      AddAvailable(*installation, catalog, options, listed);
    } else if (const Error* why = catalog.WhyNot(language.id)) {
      listed.reason = why->message();
      listed.fix = why->fix();
    }
    all.push_back(std::move(listed));
  }
  return all;
}

std::string LanguageListJson(const std::vector<ListedLanguage>& languages, std::string_view mode,
                             std::string_view language) {
  json::Array all;
  for (const ListedLanguage& each : languages) all.push_back(ToJson(each));
  return json::Write(json::Object{{"mode", json::Text(mode)},
                                  {"language", json::Text(language)},
                                  {"languages", std::move(all)}}) +
         "\n";
}

}  // namespace polybox::http
