// Installs the packages that a language file calls preinstalled into a directory that every run
// sees read-only.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "languages/language.h"
#include "languages/toolchain.h"

namespace polybox::languages {

struct PreinstallOptions {
  /// The language's directory is made below it.
  std::string packages_dir;
  /// As $PATH writes it.
  std::string path;
  /// Fills a new directory with the packages. Null: the installer runs as we do.
  std::function<Status(const std::string& target)> install = {};
};

enum class PreinstallOutcome {
  kNothingToDo,  ///< The file names no packages.
  kProvided,     ///< The toolchain brings them itself.
  kUpToDate,     ///< They are there already, made by the same toolchain from the same list.
  kInstalled,
};

/// Takes as long as the installer does. A set is installed beside the old one and then put in its
/// place, so a failure leaves what was there.
Result<PreinstallOutcome> Preinstall(const Language& language, const Toolchain& toolchain,
                                     const PreinstallOptions& options);

}  // namespace polybox::languages
