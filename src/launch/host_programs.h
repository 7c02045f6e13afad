// Shows programs of the host and paths that variables name in a jail: for installers, and for
// clients of package registries. The functions only look at the host. Any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jail/spec.h"
#include "languages/language.h"
#include "languages/toolchain.h"

namespace polybox::launch {

/// Finds a program in the directories of the toolchain, then in those of `path`, which has the
/// format of $PATH; "" when it is in neither. The toolchain comes first because a program on PATH
/// may be a shim, which does not work in a jail.
std::string FindProgram(const std::string& name, const languages::Toolchain& toolchain,
                        const std::string& path);

/// Shows a program in the jail. If the directory above that of the program has the file `marker`,
/// shows that whole directory.
void ShowProgram(jail::Spec& spec, const std::string& program, const std::string& marker);

/// Variables of the server's environment that a jail gets, by the language file. Those in `files`
/// hold paths.
struct PassedVariables {
  const std::vector<std::string>& names;
  const std::vector<std::string>& files;
  /// Returns a variable of the server's environment; "" if it is not set.
  const std::function<std::string(const std::string&)>& variable;
};

/// Returns the variables that are set. Shows the paths in them at the same paths in the jail.
languages::Env PassVariables(const PassedVariables& passed, jail::Spec& spec);

}  // namespace polybox::launch
