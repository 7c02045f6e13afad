#include "languages/registry.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.h"
#include "languages/parse.h"

namespace polybox::languages {
namespace {

constexpr std::string_view kDefaultsFile = "defaults.toml";

struct Source {
  std::string file;
  std::string name;
  std::string text;
};

Result<std::vector<Source>> ReadDirectory(const std::string& directory) {
  std::error_code error;
  std::vector<Source> sources;
  std::filesystem::directory_iterator entries(directory, error);
  while (!error && entries != std::filesystem::directory_iterator()) {
    const std::filesystem::path path = entries->path();
    if (path.extension() == ".toml") {
      POLYBOX_ASSIGN_OR_RETURN(std::string text, ReadFile(path.string()));
      sources.push_back({path.string(), path.filename().string(), std::move(text)});
    }
    entries.increment(error);
  }
  if (error) return Error::FromErrno("read languages directory " + directory, error.value());
  std::ranges::sort(sources, {}, &Source::file);
  return sources;
}

std::vector<Source> FromBuiltin(std::span<const EmbeddedFile> files) {
  std::vector<Source> sources;
  for (const EmbeddedFile& file : files) {
    sources.push_back({fmt::format("languages/{}", file.name), std::string(file.name),
                       std::string(file.content)});
  }
  return sources;
}

/// The error texts of several files, one after the other.
class Complaints {
 public:
  void Add(std::string text) { texts_.push_back(std::move(text)); }
  Status ToStatus() const {
    if (texts_.empty()) return {};
    return Error(ErrorKind::kInvalid, fmt::format("{}", fmt::join(texts_, "\n")));
  }

 private:
  std::vector<std::string> texts_;
};

using ById = std::map<std::string, Language>;

/// Parses the files of one directory over what is there.
void AddLanguages(const std::vector<Source>& sources, const DefaultLimits& defaults, ById& known,
                  Complaints& complaints) {
  std::map<std::string, std::string> seen_here;  // id to file
  for (const Source& source : sources) {
    if (source.name == kDefaultsFile) continue;
    Result<Language> language = ParseLanguage(source.text, source.file, defaults);
    if (!language.ok()) {
      complaints.Add(language.error().message());
      continue;
    }
    const auto [first, is_new] = seen_here.emplace(language->id, source.file);
    if (!is_new) {
      complaints.Add(fmt::format("{}:{}: id = \"{}\": {} has the same id", source.file,
                                 language->id_line, language->id, first->second));
      continue;
    }
    known[first->first] = std::move(language).value();
  }
}

/// Follows `alias` through the languages whose ids it names; a path that comes back is a cycle.
std::optional<std::string> AliasCycle(const ById& known, const Language& start,
                                      const std::string& alias) {
  std::vector<std::string> path = {start.id};
  std::string next = alias;
  while (known.contains(next)) {
    path.push_back(next);
    if (next == start.id) return fmt::format("{}", fmt::join(path, " -> "));
    const Language& language = known.at(next);
    const auto onward = std::ranges::find_if(language.aliases, [&](const std::string& candidate) {
      return known.contains(candidate) &&
             (candidate == start.id || std::ranges::count(path, candidate) == 0);
    });
    if (onward == language.aliases.end()) return std::nullopt;
    next = *onward;
  }
  return std::nullopt;
}

void CheckAliases(const ById& known, Complaints& complaints) {
  std::map<std::string, const Language*> owners;
  for (const auto& [id, language] : known) {
    for (const std::string& alias : language.aliases) {
      const auto complain = [&](const std::string& text) {
        complaints.Add(fmt::format("{}:{}: aliases = \"{}\": {}", language.file,
                                   language.aliases_line, alias, text));
      };
      if (const auto cycle = AliasCycle(known, language, alias)) {
        complain("a cycle of aliases: " + *cycle);
      } else if (const auto other = known.find(alias); other != known.end()) {
        complain("that is the id of the language in " + other->second.file);
      } else if (const auto [owner, is_new] = owners.emplace(alias, &language); !is_new) {
        complain(fmt::format("{} has the same alias", owner->second->file));
      }
    }
  }
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

}  // namespace

Result<Registry> Registry::Load(std::span<const EmbeddedFile> builtin,
                                const std::vector<std::string>& directories) {
  std::vector<std::vector<Source>> layers = {FromBuiltin(builtin)};
  for (const std::string& directory : directories) {
    POLYBOX_ASSIGN_OR_RETURN(std::vector<Source> layer, ReadDirectory(directory));
    layers.push_back(std::move(layer));
  }
  DefaultLimits defaults;
  Complaints complaints;
  for (const std::vector<Source>& layer : layers) {
    for (const Source& source : layer) {
      if (source.name != kDefaultsFile) continue;
      const Status status = ParseDefaults(source.text, source.file, defaults);
      if (!status.ok()) complaints.Add(status.error().message());
    }
  }
  ById known;
  for (const std::vector<Source>& layer : layers) AddLanguages(layer, defaults, known, complaints);
  CheckAliases(known, complaints);
  POLYBOX_RETURN_IF_ERROR(complaints.ToStatus());

  std::vector<Language> languages;
  languages.reserve(known.size());
  for (auto& [id, language] : known) languages.push_back(std::move(language));
  return Registry(std::move(languages));
}

const Language* Registry::Find(std::string_view name) const {
  const std::string wanted = Lower(name);
  for (const Language& language : languages_) {
    if (language.id == wanted || std::ranges::count(language.aliases, wanted) != 0) {
      return &language;
    }
  }
  return nullptr;
}

}  // namespace polybox::languages
