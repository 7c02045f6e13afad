// Finds the toolchain of a language on this host. A program on PATH may be a shim (pyenv, asdf) or
// a proxy (rustup). This code therefore asks the toolchain itself for its real executable and the
// directories that it needs. The answers are kept in a cache file. An answer is valid while path,
// size and modification time of the files that it depends on are unchanged.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "json/member.h"
#include "languages/language.h"

namespace polybox::languages {

/// A toolchain on this host.
struct Toolchain {
  /// The program as found on PATH.
  std::string binary;
  /// The real program, which `binary` may only start.
  std::string executable;
  /// The directories that it needs; the first is its root.
  std::vector<std::string> roots;
  std::string version;

  /// Returns the first number with a dot in `version` ("3.11.7"), else the first number, else "".
  std::string VersionNumber() const;

  /// The form of the cache file.
  static constexpr auto Members() {
    return std::tuple(json::Required("binary", &Toolchain::binary),
                      json::Required("executable", &Toolchain::executable),
                      json::Required("roots", &Toolchain::roots),
                      json::Required("version", &Toolchain::version));
  }
};

/// Returns whether the dotted number `version` is `minimum` or newer: 1.10 is newer than 1.9.
bool IsAtLeast(std::string_view version, std::string_view minimum);

/// Where toolchains and cached answers are.
struct FinderOptions {
  /// The directories to search, in the format of $PATH.
  std::string path;
  /// The file in which answers are kept; "" for none.
  std::string cache_file;
  /// The parent of each language's directory of preinstalled packages.
  std::string packages_dir;
};

/// The answer for each language id: its toolchain, or an error of kind kUnavailable that names what
/// is missing.
using Toolchains = std::map<std::string, Result<Toolchain>>;

/// Finds the toolchains of all `languages`, several at a time, and waits for all. A cache that
/// cannot be read or written only costs time; `log` gets a line about it.
Toolchains FindToolchains(const std::vector<Language>& languages, const FinderOptions& options,
                          const log::Logger& log);

}  // namespace polybox::languages
