// What installs packages into a directory; package_store.h says when. The real one runs the
// language's installer in a jail (jail_installer.h).
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "exec/launch.h"

namespace polybox::exec {

struct InstallJob {
  const Installation& installation;
  /// Checked (requirement.h).
  std::vector<std::string> requirements;
  Duration time{};
  /// Nobody wants it any more.
  std::stop_token cancel = {};
};

struct InstallOutcome {
  /// "" when it worked; else what became of the installer: "exit status 1", "signal: killed".
  std::string failure;
  /// What it said, its last part when that is much.
  std::string output;
  /// It was cut short, which says nothing about the packages.
  bool unfinished = false;
};

class Installer {
 public:
  virtual ~Installer() = default;

  /// Fills `target`, a new directory. An error is our own failure. Any thread.
  virtual Result<InstallOutcome> Install(const InstallJob& job, const std::string& target) = 0;
  /// All that makes a difference to what is installed, beside the requirements and the toolchain.
  virtual std::string Identity(const Installation& installation) const = 0;
};

}  // namespace polybox::exec
