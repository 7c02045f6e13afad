// A detector knows one language of projects: how a project is recognised, and how the project is
// tested, linted, type-checked, formatted and measured. All tools and commands that depend on a
// language ask a detector. The one implementation reads the [verify] tables of a language file
// (detectors.h makes it). Immutable; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "languages/language.h"
#include "verify/parser.h"
#include "verify/project.h"

namespace polybox::verify {

enum class Check { kTest, kLint, kTypecheck, kFormat, kCoverage };
/// Returns "test", "lint", "typecheck", "format" or "coverage".
std::string_view CheckName(Check check);

/// What the author of a language file says that an exit code of a tool means.
enum class ExitMeaning {
  kOk,          ///< Nothing is wrong.
  kFindings,    ///< The tool ran and found something.
  kNothing,     ///< The tool ran, and there was nothing to do.
  kToolFailed,  ///< The tool itself failed: every code that the file does not name.
};

/// How strongly a file shows the language of a project.
enum class Strength { kMarker, kWeakMarker };

/// What to do beyond the whole check.
struct PlanOptions {
  /// Tests only: an expression of the runner; "" for all tests.
  std::string filter = {};
  /// Tests only: run these and no others, if there are any. `ids` are theirs, in the same order.
  std::vector<TestName> tests = {};
  std::vector<std::string> ids = {};
  /// Format only: the file, relative to the project; "" for the whole project.
  std::string file = {};
  /// Format only: change the files.
  bool apply = false;
};

/// A command that is ready to be run in a project.
struct Plan {
  std::string language = {};
  Check check = Check::kTest;
  /// The placeholder {report} is still in the words.
  languages::Argv argv = {};
  /// The programs that must exist.
  std::vector<std::string> binaries = {};
  /// Directories of the project that are searched before PATH.
  std::vector<std::string> path = {};
  /// Null for a command whose output nobody parses.
  const Parser* parser = nullptr;
  const languages::Patterns* patterns = nullptr;
  /// The report file: "{report}", a path relative to the project, or "" for none.
  std::string report = {};
  /// The name of the project's own script that is run; "" for a command of the language file.
  std::string script = {};
};

class Detector {
 public:
  Detector() = default;
  Detector(const Detector&) = delete;
  Detector& operator=(const Detector&) = delete;
  virtual ~Detector() = default;

  /// Returns the id, as in "go".
  virtual std::string_view Language() const = 0;
  /// Returns the name for people, as in "Go".
  virtual std::string_view Name() const = 0;
  /// Returns whether the root of the project has a file of this strength.
  virtual bool Recognises(const Project& project, Strength strength) const = 0;
  /// Returns the command of a check. Fails if the language has no such check, or if the runner
  /// cannot do what the options ask for.
  virtual Result<Plan> PlanFor(Check check, const Project& project,
                               const PlanOptions& options) const = 0;
  /// Returns whether projects of the language can define scripts.
  virtual bool RunsScripts() const = 0;
  /// Returns the command of a script that the project defines. `arguments` are for the script.
  virtual Result<Plan> ScriptFor(const Project& project, const std::string& name,
                                 const std::vector<std::string>& arguments) const = 0;
  /// Returns the name by which the sources of the project call its root; "" if there is none.
  virtual std::string ModuleOf(const Project& project) const = 0;
  virtual ExitMeaning MeaningOf(Check check, int exit_code) const = 0;
  /// Returns the command of the language server; empty if there is none.
  virtual const languages::Argv& LspCommand() const = 0;
  /// Returns the extensions of source files, each with its dot.
  virtual const std::vector<std::string>& Extensions() const = 0;
};

}  // namespace polybox::verify
