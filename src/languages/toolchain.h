// Finds the toolchain of a language on this host. What stands on PATH may be a shim (pyenv, asdf)
// or a proxy (rustup): the toolchain itself is asked once for its real executable and the
// directories it needs, and the answers are kept in a cache file keyed by path, size and time of
// change of all that they depend on.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "languages/language.h"

namespace polybox::languages {

struct Toolchain {
  /// As found on PATH.
  std::string binary;
  /// The real program behind it.
  std::string executable;
  /// The directories it needs; the first is its root.
  std::vector<std::string> roots;
  std::string version;

  /// The first number with a dot in `version` ("3.11.7"), else the first number, else "".
  std::string VersionNumber() const;
};

/// Whether the dotted number `version` is `minimum` or newer: 1.10 is newer than 1.9.
bool IsAtLeast(std::string_view version, std::string_view minimum);

struct FinderOptions {
  /// As $PATH writes it.
  std::string path;
  /// Where answers are kept; "" keeps none.
  std::string cache_file;
  /// Parent of the per-language directories of preinstalled packages.
  std::string packages_dir;
};

/// One answer per language: its toolchain, or an error of kind kUnavailable that names what is
/// missing.
using Toolchains = std::map<std::string, Result<Toolchain>>;

/// Asks for all of `languages`, several at a time. A cache that cannot be read or written only
/// costs time; `log` says so.
Toolchains FindToolchains(const std::vector<Language>& languages, const FinderOptions& options,
                          const log::Logger& log);

}  // namespace polybox::languages
