// Installs the packages that a language file calls preinstalled into a directory that every run
// sees read-only. Used by the command `polybox preinstall`.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "languages/language.h"
#include "languages/toolchain.h"

namespace polybox::languages {

/// Where to install, and how.
struct PreinstallOptions {
  /// The parent of the language's directory.
  std::string packages_dir;
  /// Directories in which to look for the installer, in the format of $PATH.
  std::string path;
  /// Fills a new directory with the packages. Null: the installer runs as an ordinary process of
  /// this user, without a jail.
  std::function<Status(const std::string& target)> install = {};
};

enum class PreinstallOutcome {
  kNothingToDo,  ///< The file names no packages.
  kProvided,     ///< The toolchain contains them.
  kUpToDate,     ///< The same toolchain has installed the same list already.
  kInstalled,
};

/// Returns a line which says that an installation took longer than `limit`, and what raises the
/// limit: `name`, or the language's file when `name` is "".
std::string ExplainLate(Duration limit, const std::string& name = "");

/// Installs the packages; blocks until the installer has ended. A set is installed beside the old
/// one and then replaces it, so a failure leaves the old set in place.
Result<PreinstallOutcome> Preinstall(const Language& language, const Toolchain& toolchain,
                                     const PreinstallOptions& options);

}  // namespace polybox::languages
