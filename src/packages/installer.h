// The interface of what installs packages into a directory. package_store.h calls it. The
// implementation that the server uses runs the language's installer in a jail (jail_installer.h);
// tests have others.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "launch/launch.h"

namespace polybox::packages {

/// One installation.
struct InstallJob {
  const launch::Installation& installation;
  /// Requirements that requirement.h has checked.
  std::vector<std::string> requirements;
  /// The time limit.
  Duration time{};
  /// Stop is requested when no request needs the packages any more.
  std::stop_token cancel = {};
};

struct InstallOutcome {
  /// How the installer failed: "exit status 1", "signal: killed". "" when it succeeded.
  std::string failure;
  /// The installer's output; only the last part of a long one.
  std::string output;
  /// The installer was killed before its end. This says nothing about the packages, so another
  /// attempt may succeed.
  bool unfinished = false;
  /// The installer was killed because its time was over.
  bool timed_out = false;
};

class Installer {
 public:
  virtual ~Installer() = default;

  /// Installs into `target`, a new directory. Blocks until the installer has ended. An error is a
  /// failure of polybox, not of the installer. Any thread.
  virtual Result<InstallOutcome> Install(const InstallJob& job, const std::string& target) = 0;
  /// Returns a text that contains everything that affects the result, besides the requirements and
  /// the toolchain. It becomes part of the set's key.
  virtual std::string Identity(const launch::Installation& installation) const = 0;
};

}  // namespace polybox::packages
