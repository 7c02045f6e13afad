// The scripts that a project defines in a manifest, as package.json does, and the package manager
// that runs them. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "verify/detector.h"

namespace polybox::verify {

/// The package manager that the manifest names, or the one whose lock file the project has.
const languages::PackageManager& ManagerOf(const languages::Scripts& scripts,
                                           const Project& project, const json::Value& manifest);

class ProjectScripts {
 public:
  /// Both must outlive the object.
  ProjectScripts(const languages::Scripts& scripts, const Project& project);

  /// Returns the text of the script; nothing if there is none.
  std::optional<std::string> Find(const std::string& name) const;
  /// Completes the plan of a check whose script has the text `body`.
  Status PlanCheck(const languages::Verification& step, const std::string& body,
                   const PlanOptions& options, Plan& plan) const;
  /// Completes the plan of any script. Fails with the errors of the tool run_script, without the
  /// name of the tool.
  Status PlanScript(const std::string& name, const std::vector<std::string>& arguments,
                    Plan& plan) const;

 private:
  /// Returns the table of scripts; null if there is none.
  const json::Object* Table() const;
  void SetCommand(const std::string& name, const std::vector<std::string>& arguments,
                  Plan& plan) const;

  const languages::Scripts& scripts_;
  const Project& project_;
  /// Null if the manifest is missing or no JSON; the next member then says why.
  json::Value manifest_;
  std::string problem_;
};

}  // namespace polybox::verify
