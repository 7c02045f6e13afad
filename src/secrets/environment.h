// Takes the operator's secrets out of the environment of this process.
#pragma once

#include <string>
#include <vector>

namespace polybox::secrets {

/// A variable CODEGEN_SANDBOX_SECRET_NAME.
struct EnvironmentSecret {
  /// The end of the variable's name, in lower case.
  std::string name;
  std::string value;
};

/// Returns all such variables and removes them. The memory in which the kernel placed them is
/// overwritten, so that /proc/PID/environ does not show them any more. Must be called before any
/// thread starts and before other code keeps pointers into the environment.
std::vector<EnvironmentSecret> TakeEnvironmentSecrets();

}  // namespace polybox::secrets
