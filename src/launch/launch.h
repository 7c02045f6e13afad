// Translates a language and its toolchain into what the jail needs: paths to show, files to put in
// place, and a command for each step. Used by sessions, installers and the preparer. The functions
// keep no state; they only look up programs and files on the host. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "jail/slot.h"
#include "jail/spec.h"
#include "languages/language.h"
#include "languages/toolchain.h"

namespace polybox::launch {

/// The path in the jail of the preinstalled packages, for a language that uses them beside the
/// packages of a request.
inline constexpr const char* kPreinstalledDirectory = "/preinstalled";

/// What the functions below need of a program: its files, of which the first is the entry, and its
/// arguments.
struct LaunchInput {
  std::vector<jail::InputFile> files;
  std::vector<std::string> args;
  /// The memory limit of the step if the request changes the limit of the language file.
  std::optional<Bytes> memory = {};
};

/// A language with its toolchain on this host, and what a slot for it shows. The language and the
/// toolchain must outlive it.
struct Installation {
  const languages::Language& language;
  const languages::Toolchain& toolchain;
  /// The directory on the host of its package set; "" when there is none.
  std::string packages;
  /// The paths in the jail, as Slot::places() returns them. Default values until there is a slot.
  jail::Places places = {};
  /// The interpreter that its slots start before a program arrives; of kind kNone for none.
  jail::Warm warm = {};
  /// Whether its programs get an egress proxy that lets them reach the hosts that the operator
  /// lists (guest_egress.h). The compile step gets none: its result is cached, so it must not
  /// depend on a network.
  bool egress = false;
  /// The directory on the host with files prepared for its compile step (compile/preparer.h); ""
  /// when there is none.
  std::string prepared = {};
  /// Whether a request asked for the package set. False for the preinstalled set.
  bool requested = false;
  /// The directory on the host of the preinstalled packages, if they are shown beside the set of a
  /// request; else "".
  std::string preinstalled = {};
};

/// Returns what the language file says about package sets of requests. Null if no request asked for
/// the set, or if the language file has no such part.
const languages::RequestedPackages* RequestsOf(const Installation& installation);

/// Returns the environment variables that tell programs the address of their jail's egress proxy.
languages::Env EgressEnvironment();

/// Returns the command that prepares files for compile steps. The command writes them to the
/// directory kTargetName of the working directory. Only for languages that have a preparation.
Result<jail::RunRequest> PreparationFor(const Installation& installation);
inline constexpr const char* kTargetName = "target";

/// Returns what a slot of this grade shows to programs of the installation.
jail::Spec SpecFor(const Installation& installation, jail::Grade grade);

/// Returns the program's files with those of the language. The entry gets the name that the
/// language demands. Default files that the program lacks and the link to the packages are added. A
/// file with a restricted name is an error of kind kInvalid.
Result<std::vector<jail::InputFile>> FilesFor(const Installation& installation,
                                              const LaunchInput& program);

/// Replaces the placeholders in templates of the language file by the program's paths in the jail.
std::vector<std::string> ExpandFor(const Installation& installation, const LaunchInput& program,
                                   const std::vector<std::string>& templates);

/// Returns a step (compile or run) as the jail executes it; the caller sets the standard streams.
/// The program's arguments are added only if `step` is the member `run` of the installation's
/// language, not a copy of it. The same holds for the variables of the egress proxy.
Result<jail::RunRequest> RequestFor(const Installation& installation, const languages::Step& step,
                                    const LaunchInput& program);

/// Sets a variable of the program; a variable of the same name is replaced.
void SetVariable(jail::RunRequest& run, const std::string& name, const std::string& value);
/// Sets $OUTPUT_DIR to the path of `directory`, which is a name in the working directory. Does
/// nothing if the name is "".
void NameOutput(const Installation& installation, const std::string& directory,
                jail::RunRequest& run);

}  // namespace polybox::launch
