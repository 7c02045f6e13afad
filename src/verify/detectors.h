// The detectors of all languages that this process knows, and the choice between them for a
// project. The words of the errors are a contract: agents know them. Immutable; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "languages/registry.h"
#include "verify/detector.h"

namespace polybox::verify {

/// The detectors that a call means.
using Chosen = std::vector<const Detector*>;

class Detectors {
 public:
  /// `registry` must outlive the object.
  explicit Detectors(const languages::Registry& registry);

  /// Returns every detector that recognises the project, in the order Go, Rust, Node, Python, then
  /// by `order` of the language files. Weak markers count only if no language has a marker.
  Chosen DetectAll(const Project& project) const;

  /// What a caller says about the language.
  struct Wish {
    /// The name of the caller, which begins the error about a project that nobody recognises.
    std::string tool;
    /// An id or an alias, "all", or "" if the caller names none.
    std::string language;
  };
  /// Returns the detectors that the caller means: one, or with "all" at least one. Fails if no
  /// language is recognised, if several are and the caller names none, or if the named one is not.
  Result<Chosen> Choose(const Project& project, const Wish& wish) const;
  /// Returns the detector whose tools check a file of this name; null if there is none.
  const Detector* FindByFile(std::string_view name) const;

 private:
  /// Returns the named detector if it recognises the project, by a weak marker too.
  const Detector* FindNamed(const Project& project, std::string_view language) const;
  Error NobodyRecognises(const Project& project, const std::string& tool) const;

  const languages::Registry& registry_;
  std::vector<std::unique_ptr<const Detector>> detectors_;
};

/// Makes the detector of a language, which must have [verify] and outlive the detector.
std::unique_ptr<const Detector> MakeDetector(const languages::Language& language);

}  // namespace polybox::verify
