#include "languages/registry.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.h"
#include "languages/parse.h"
#include "languages/text_files.h"

namespace polybox::languages {
namespace {

constexpr std::string_view kDefaultsFile = "defaults.toml";

struct Source {
  std::string file;
  std::string name;
  std::string text;
};

/// The files of one directory.
struct Layer {
  std::vector<Source> sources;
  /// The files in the folders beside the language files.
  TextFiles files;
};

/// Returns the paths of everything in `directory`, sorted.
Result<std::vector<std::filesystem::path>> ListDirectory(const std::filesystem::path& directory) {
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  std::filesystem::directory_iterator entries(directory, error);
  while (!error && entries != std::filesystem::directory_iterator()) {
    paths.push_back(entries->path());
    entries.increment(error);
  }
  if (error) {
    return Error::FromErrno("read languages directory " + directory.string(), error.value());
  }
  std::ranges::sort(paths);
  return paths;
}

/// Reads the files of the folder beside a language file, if there is one.
Status ReadFolder(const std::filesystem::path& folder, TextFiles& files) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) return {};
  POLYBOX_ASSIGN_OR_RETURN(const auto paths, ListDirectory(folder));
  for (const std::filesystem::path& path : paths) {
    if (!std::filesystem::is_regular_file(path, error)) continue;
    POLYBOX_ASSIGN_OR_RETURN(std::string text, ReadFile(path.string()));
    files[folder.filename() / path.filename()] = std::move(text);
  }
  return {};
}

Result<Layer> ReadDirectory(const std::string& directory) {
  Layer layer;
  POLYBOX_ASSIGN_OR_RETURN(const auto paths, ListDirectory(directory));
  for (std::filesystem::path path : paths) {
    if (path.extension() != ".toml") continue;
    POLYBOX_ASSIGN_OR_RETURN(std::string text, ReadFile(path.string()));
    layer.sources.push_back({path.string(), path.filename().string(), std::move(text)});
    POLYBOX_RETURN_IF_ERROR(ReadFolder(path.replace_extension(), layer.files));
  }
  return layer;
}

Layer FromBuiltin(std::span<const EmbeddedFile> files) {
  Layer layer;
  for (const EmbeddedFile& file : files) {
    const std::string name(file.name);
    std::string content(file.content);
    if (!name.ends_with(".toml")) {
      layer.files[name] = std::move(content);
    } else {
      layer.sources.push_back({"languages/" + name, name, std::move(content)});
    }
  }
  return layer;
}

/// Collects the error texts of several files.
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

/// Parses the files of one directory; they replace languages of the same id in `known`. `files`
/// includes the files of earlier directories. A directory that contains only the TOML file of a
/// language therefore uses the other files of the language it replaces.
void AddLanguages(const std::vector<Source>& sources, const DefaultLimits& defaults,
                  const TextFiles& files, ById& known, Complaints& complaints) {
  std::map<std::string, std::string> seen_here;  // id to file
  for (const Source& source : sources) {
    if (source.name == kDefaultsFile) continue;
    Result<Language> language = ParseLanguage(source.text, source.file, defaults, files);
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

/// Follows `alias` through the languages whose ids it names. Returns the path if it leads back to
/// `start`, which is a cycle.
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

/// Reports aliases that form a cycle, are ids of languages, or occur twice.
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

/// Reports fallback languages that do not exist.
void CheckFallbacks(const ById& known, Complaints& complaints) {
  for (const auto& [id, language] : known) {
    if (!language.fallback || known.contains(language.fallback->language)) continue;
    complaints.Add(fmt::format("{}: fallback.language = \"{}\": there is no language of that id",
                               language.file, language.fallback->language));
  }
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

/// Sets the memory limit that a setting names; 0 leaves the file's.
void SetMemory(Bytes memory, Limits& limits) {
  if (memory.count() != 0) limits::SetMemory(limits, memory);
}

}  // namespace

Result<Registry> Registry::Load(std::span<const EmbeddedFile> builtin,
                                const std::vector<std::string>& directories,
                                const MemoryLimits& memory) {
  std::vector<Layer> layers = {FromBuiltin(builtin)};
  for (const std::string& directory : directories) {
    POLYBOX_ASSIGN_OR_RETURN(Layer layer, ReadDirectory(directory));
    layers.push_back(std::move(layer));
  }
  DefaultLimits defaults;
  Complaints complaints;
  for (const Layer& layer : layers) {
    for (const Source& source : layer.sources) {
      if (source.name != kDefaultsFile) continue;
      const Status status = ParseDefaults(source.text, source.file, defaults);
      if (!status.ok()) complaints.Add(status.error().message());
    }
  }
  ById known;
  TextFiles files;
  for (const Layer& layer : layers) {
    // A file of a later directory replaces the file of the same name.
    for (const auto& [name, content] : layer.files) files[name] = content;
    AddLanguages(layer.sources, defaults, files, known, complaints);
  }
  // Aliases are checked after all files, because a later file can replace a language.
  CheckAliases(known, complaints);
  CheckFallbacks(known, complaints);
  POLYBOX_RETURN_IF_ERROR(complaints.ToStatus());

  std::vector<Language> languages;
  languages.reserve(known.size());
  for (auto& [id, language] : known) {
    SetMemory(memory.run, language.run.limits);
    if (language.compile) SetMemory(memory.compile, language.compile->limits);
    languages.push_back(std::move(language));
  }
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
