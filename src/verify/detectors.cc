#include "verify/detectors.h"

#include <algorithm>
#include <cctype>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"
#include "verify/foreign_markers.h"

namespace polybox::verify {
namespace {

constexpr std::size_t kShownLanguage = 80;

/// Returns the text without white space around it, in lower case.
std::string Normal(std::string_view text) {
  const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  std::string normal(text);
  std::ranges::transform(normal, normal.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return normal;
}

/// Returns the ids, sorted, as in "go, node".
std::string Ids(const Chosen& detectors) {
  std::vector<std::string_view> ids;
  for (const Detector* each : detectors) ids.push_back(each->Language());
  std::ranges::sort(ids);
  return fmt::format("{}", fmt::join(ids, ", "));
}

}  // namespace

Detectors::Detectors(const languages::Registry& registry) : registry_(registry) {
  std::vector<const languages::Language*> ordered;
  for (const languages::Language& each : registry.all()) {
    if (each.verify) ordered.push_back(&each);
  }
  std::ranges::stable_sort(ordered, {}, [](const auto* each) { return each->verify->order; });
  for (const languages::Language* each : ordered) detectors_.push_back(MakeDetector(*each));
}

Chosen Detectors::DetectAll(const Project& project) const {
  for (const Strength strength : {Strength::kMarker, Strength::kWeakMarker}) {
    Chosen found;
    for (const auto& each : detectors_) {
      if (each->Recognises(project, strength)) found.push_back(each.get());
    }
    if (!found.empty()) return found;
  }
  return {};
}

const Detector* Detectors::FindNamed(const Project& project, std::string_view language) const {
  const languages::Language* known = registry_.Find(language);
  const std::string_view id = known == nullptr ? language : std::string_view(known->id);
  const auto found =
      std::ranges::find(detectors_, id, [](const auto& each) { return each->Language(); });
  if (found == detectors_.end()) return nullptr;
  const Detector& detector = **found;
  const bool recognises = detector.Recognises(project, Strength::kMarker) ||
                          detector.Recognises(project, Strength::kWeakMarker);
  return recognises ? &detector : nullptr;
}

const Detector* Detectors::FindByFile(std::string_view name) const {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return nullptr;
  const std::string_view extension = name.substr(dot);
  const auto found = std::ranges::find_if(detectors_, [&](const auto& each) {
    return std::ranges::find(each->Extensions(), extension) != each->Extensions().end();
  });
  return found == detectors_.end() ? nullptr : found->get();
}

Error Detectors::NobodyRecognises(const Project& project, const std::string& tool) const {
  const std::vector<std::string> markers = ForeignMarkersIn(project.files());
  std::vector<std::string_view> names;
  for (const auto& each : detectors_) names.push_back(each->Name());
  std::ranges::sort(names);
  return Error(ErrorKind::kNotFound,
               fmt::format("{}: no Detector registered for workspace at {} (found markers: {}) — "
                           "this build ships {} detectors. Open an issue or fork the image to add "
                           "a new detector.",
                           tool, project.directory(),
                           markers.empty() ? "none" : fmt::format("{}", fmt::join(markers, ", ")),
                           fmt::join(names, ", ")))
      .WithFix(
          "Or name a directory with --languages-dir: a language file in it with markers and "
          "commands adds a detector; a project in a subdirectory is meant with `path`");
}

Result<Chosen> Detectors::Choose(const Project& project, const Wish& wish) const {
  const std::string language = Normal(wish.language);
  const Chosen detected = DetectAll(project);
  if (!language.empty() && language != "all") {
    const Detector* named = FindNamed(project, language);
    if (named != nullptr) return Chosen{named};
    if (detected.empty()) return NobodyRecognises(project, wish.tool);
    return Error(ErrorKind::kInvalid,
                 fmt::format("language \"{}\" not detected in workspace; detected: {}",
                             PrintableForQuotes(language, kShownLanguage), Ids(detected)));
  }
  if (detected.empty()) return NobodyRecognises(project, wish.tool);
  if (language == "all" || detected.size() == 1) return detected;
  return Error(ErrorKind::kInvalid,
               fmt::format("polyglot workspace: {} project types detected ({}) — pass `language` "
                           "to pick one",
                           detected.size(), Ids(detected)));
}

}  // namespace polybox::verify
