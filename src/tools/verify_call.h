// What all tools that check a project do with their arguments: find the workspace, the project and
// its machine, and turn results into one answer. The words of the errors are a contract: agents
// know them. Any thread; the objects belong to one call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "json/bind.h"
#include "tools/shell_call.h"
#include "verify/verification.h"

namespace polybox::tools {

/// The arguments that all tools have which check a project.
struct ProjectArguments {
  std::optional<std::string> language = {};
  std::string path = {};
  double timeout = 0;

  static constexpr bool kTakesBudget = true;
  static constexpr auto Members() {
    return std::tuple(
        json::Optional("language", &ProjectArguments::language,
                       "Needed if the project has several; \"all\" for each in turn"),
        json::Optional("path", &ProjectArguments::path, "Directory of the project"),
        json::Optional("timeout", &ProjectArguments::timeout, "Seconds; 300 if absent"));
  }
};

/// The answer of such a tool.
struct CheckAnswer {
  /// That of the only result. Of several: green only if all are, otherwise that of the first which
  /// is not.
  verify::Verdict verdict = verify::Verdict::kUnreadable;
  std::vector<verify::CheckResult> results = {};
  std::vector<std::string> notes = {};

  // Not part of the data.
  /// Lines in front of the text: notes that are new to the caller.
  std::vector<std::string> first_lines = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("verdict", &CheckAnswer::verdict),
                      json::Required("results", &CheckAnswer::results),
                      json::Required("notes", &CheckAnswer::notes));
  }
};

std::string Text(const CheckAnswer& answer);

class VerifyCall {
 public:
  /// `tool` begins errors. Fails if the call names no workspace, or one that is read-only.
  static Result<VerifyCall> Begin(const Context& context, std::string tool,
                                  const ProjectArguments& arguments);

  const verify::Project& project() const { return project_; }
  verify::Verification& verification() const { return *context_->verification; }
  verify::Ground ground() const;
  /// Returns the request for a check, with what the arguments say.
  verify::CheckRequest Request(verify::Check check) const;
  verify::RunOptions run_options() const;

  /// Runs the request. A missing program of the only language is an error.
  Result<CheckAnswer> Run(const verify::CheckRequest& request) const;
  /// Makes the answer of results, within the budget of the call.
  CheckAnswer Answer(std::vector<verify::CheckResult> results) const;
  /// Returns the error if the only result is that a program is missing.
  Status RefuseMissing(const std::vector<verify::CheckResult>& results) const;
  /// Returns the path of a file relative to the project. Fails if the file is not in it.
  Result<std::string> FileInProject(std::string_view argument) const;
  /// Returns the only detector that the arguments mean.
  Result<const verify::Detector*> OnlyDetector() const;

 private:
  VerifyCall(const Context& context, std::string tool, ShellCall shell, verify::Project project)
      : context_(&context),
        tool_(std::move(tool)),
        shell_(std::move(shell)),
        project_(std::move(project)) {}

  const Context* context_;
  std::string tool_;
  ShellCall shell_;
  verify::Project project_;
  ProjectArguments arguments_;
};

}  // namespace polybox::tools
