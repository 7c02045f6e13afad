// From a language and its toolchain to what the jail needs: what is shown, which files are there,
// what is executed in each step. Pure but for looking up programs and files on the host.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "jail/slot.h"
#include "jail/spec.h"
#include "languages/language.h"
#include "languages/toolchain.h"

namespace polybox::exec {

/// Where the preinstalled packages are shown beside those of a request, where a language has a use
/// for both.
inline constexpr const char* kPreinstalledDirectory = "/preinstalled";

/// A program to run: its files, of which the first is the entry, and its arguments.
struct Program {
  std::vector<jail::InputFile> files;
  std::vector<std::string> args;
};

/// A language as it is installed here.
struct Installation {
  const languages::Language& language;
  const languages::Toolchain& toolchain;
  /// The directory of its package set on the host; "" when there is none.
  std::string packages;
  /// As the slot says it, once there is one.
  jail::Places places = {};
  /// The interpreter that its slots start ahead; of kind kNone for none.
  jail::Warm warm = {};
  /// Its programs get the egress proxy, with an operator's list of hosts: see guest_egress.h. Not
  /// so its compile step, whose result is kept: it must not depend on what a network says.
  bool egress = false;
  /// The directory on the host of what its compile step finds ready; "" when there is none.
  std::string prepared = {};
  /// A request asked for the package set.
  bool requested = false;
  /// The directory on the host of the preinstalled packages, where they are shown beside that set.
  std::string preinstalled = {};
};

/// What its language file says about a set that a request asked for; null when there is none, or
/// nothing to say.
const languages::RequestedPackages* RequestsOf(const Installation& installation);

/// The variables by which programs find the egress proxy of their jail.
languages::Env EgressEnvironment();

jail::RunLimits LimitsOf(const languages::Limits& limits);

/// How what a compile step finds ready is made, in the directory kTargetName of the working
/// directory; only for languages that have a preparation.
Result<jail::RunRequest> PreparationFor(const Installation& installation);
inline constexpr const char* kTargetName = "target";

/// What a slot of this grade shows.
jail::Spec SpecFor(const Installation& installation, jail::Grade grade);

/// The program's files with the language's own: the entry under the name that its rule demands,
/// default files that the program does not bring, the link to the packages. A restricted name is an
/// error.
Result<std::vector<jail::InputFile>> FilesFor(const Installation& installation,
                                              const Program& program);

/// A step (compile or run) as the jail executes it; the standard streams are left to the caller.
Result<jail::RunRequest> RequestFor(const Installation& installation, const languages::Step& step,
                                    const Program& program);

/// A variable of the program, in place of what it had under that name.
void SetVariable(jail::RunRequest& run, const std::string& name, const std::string& value);
/// Tells the program where it may leave files: a directory in the working directory, "" for none.
void NameOutput(const Installation& installation, const std::string& directory,
                jail::RunRequest& run);

}  // namespace polybox::exec
