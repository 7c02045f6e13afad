#include "exec/choose_entry.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"
#include "base/printable.h"

namespace polybox::exec {
namespace {

using jail::InputFile;
using languages::Language;

constexpr std::size_t kMostCandidates = 10;

Error Invalid(std::string message) {
  return {ErrorKind::kInvalid, std::move(message)};
}

/// Returns the interpreter's name in a first line such as `#!/usr/bin/env -S python3 -u`; "" when
/// there is none.
std::string ShebangName(std::string_view content) {
  if (!content.starts_with("#!")) return "";
  std::string line(content.substr(2, content.find('\n') - 2));
  std::ranges::replace(line, '\t', ' ');
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string word = line.substr(at, end - at);
    const std::string name = word.substr(word.rfind('/') + 1);
    if (!name.empty() && name != "env" && !name.starts_with('-')) return name;
    at = end + 1;
  }
  return "";
}

bool IsFileOf(const Language& language, const std::string& file) {
  const std::string extension = std::filesystem::path(file).extension().string();
  return std::ranges::count(language.extensions, extension) != 0;
}

class Chooser {
 public:
  Chooser(const languages::Registry& registry, const std::vector<InputFile>& files,
          const EntryQuery& query)
      : registry_(registry), files_(files), query_(query) {}

  Result<ChosenEntry> Choose() {
    if (!query_.language.empty()) {
      language_ = registry_.Find(query_.language);
      if (language_ == nullptr) return UnknownLanguage();
    }
    if (!query_.entry.empty()) return Named();
    return query_.is_directory ? FromDirectory() : WithLanguage(0);
  }

 private:
  Error UnknownLanguage() const {
    const std::vector<std::string_view> ids = Ids();
    return Invalid(fmt::format("no language \"{}\"{} (known: {})", Printable(query_.language, 100),
                               DidYouMean(query_.language, ids), fmt::join(ids, ", ")));
  }

  std::vector<std::string_view> Ids() const {
    std::vector<std::string_view> ids;
    for (const Language& language : registry_.all()) ids.push_back(language.id);
    return ids;
  }

  Result<ChosenEntry> Named() const {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (files_[i].name == query_.entry) return WithLanguage(i);
      names.emplace_back(files_[i].name);
    }
    return Invalid(fmt::format("--entry \"{}\": there is no such file{} (files: {})",
                               Printable(query_.entry, 300), DidYouMean(query_.entry, names),
                               Listed(names)));
  }

  /// Returns the choice with its language: the one that the person named, else by extension, else
  /// by the #! line.
  Result<ChosenEntry> WithLanguage(std::size_t index) const {
    const Language* language = language_;
    const InputFile& file = files_[index];
    if (language == nullptr) language = ByExtension(file);
    if (language == nullptr) language = ByShebang(file);
    if (language != nullptr) return ChosenEntry{index, language};
    return Invalid(
        fmt::format("{}: neither its extension nor a #! line says which language it is; "
                    "give --language (known: {})",
                    query_.is_directory ? file.name : query_.shown, fmt::join(Ids(), ", ")));
  }

  const Language* ByExtension(const InputFile& file) const {
    for (const Language& language : registry_.all()) {
      if (IsFileOf(language, file.name)) return &language;
    }
    return nullptr;
  }

  const Language* ByShebang(const InputFile& file) const {
    const std::string name = ShebangName(file.content);
    for (const Language& language : registry_.all()) {
      if (!name.empty() && std::ranges::count(language.shebangs, name) != 0) return &language;
    }
    return nullptr;
  }

  /// Returns the position of a name in the language's list of entry names. For another name it is
  /// past the end.
  static std::size_t Rank(const Language& language, const std::string& name) {
    if (name == language.entry.file) return 0;
    const auto& names = language.entry.names;
    return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin()) + 1;
  }

  static bool HasName(const Language& language, const std::string& name) {
    return Rank(language, name) <= language.entry.names.size();
  }

  /// Returns the files on the directory's top level whose language is known.
  std::vector<ChosenEntry> Candidates() const {
    std::vector<ChosenEntry> candidates;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (files_[i].name.find('/') != std::string::npos) continue;
      const Language* language = language_ != nullptr && IsFileOf(*language_, files_[i].name)
                                     ? language_
                                     : ByExtension(files_[i]);
      const bool wanted = language != nullptr && (language_ == nullptr || language == language_);
      if (wanted) candidates.push_back({i, language});
    }
    return candidates;
  }

  Result<ChosenEntry> FromDirectory() const {
    const std::vector<ChosenEntry> candidates = Candidates();
    if (candidates.empty()) {
      return Invalid(fmt::format("{}: no file in it has the extension of {}; name one with --entry",
                                 query_.shown,
                                 language_ == nullptr ? "a known language" : language_->name));
    }
    std::vector<ChosenEntry> named;
    for (const ChosenEntry& candidate : candidates) {
      if (HasName(*candidate.language, NameOf(candidate))) named.push_back(candidate);
    }
    if (IsOneLanguage(named)) {
      return *std::ranges::min_element(named, {}, [&](const ChosenEntry& candidate) {
        return Rank(*candidate.language, NameOf(candidate));
      });
    }
    // All files of a language with this rule form one program, so any of them may be the entry.
    const bool together = candidates[0].language->entry.rule == languages::EntryRule::kDirectory;
    const bool certain = candidates.size() == 1 || (together && IsOneLanguage(candidates));
    if (named.empty() && certain) return candidates[0];
    std::vector<std::string_view> names;
    for (const ChosenEntry& one : named.empty() ? candidates : named) names.push_back(NameOf(one));
    return Invalid(
        fmt::format("{}: more than one file could be the entry; name one with --entry "
                    "({})",
                    query_.shown, Listed(names)));
  }

  const std::string& NameOf(const ChosenEntry& entry) const { return files_[entry.index].name; }

  static bool IsOneLanguage(const std::vector<ChosenEntry>& entries) {
    return !entries.empty() && std::ranges::all_of(entries, [&](const ChosenEntry& entry) {
      return entry.language == entries[0].language;
    });
  }

  static std::string Listed(const std::vector<std::string_view>& names) {
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kMostCandidates); ++i) {
      text += (i == 0 ? "" : ", ") + Printable(names[i], 100);
    }
    const std::size_t left = names.size() - std::min(names.size(), kMostCandidates);
    return left == 0 ? text : fmt::format("{} and {} more", text, left);
  }

  const languages::Registry& registry_;
  const std::vector<InputFile>& files_;
  const EntryQuery& query_;
  /// The language that the person named; null when the file decides.
  const Language* language_ = nullptr;
};

}  // namespace

Result<ChosenEntry> ChooseEntry(const languages::Registry& registry,
                                const std::vector<InputFile>& files, const EntryQuery& query) {
  return Chooser(registry, files, query).Choose();
}

}  // namespace polybox::exec
