// The detector whose data is a language file.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/split.h"
#include "languages/placeholders.h"
#include "verify/detectors.h"
#include "verify/scripts.h"
#include "verify/selection.h"
#include "workspace/glob_pattern.h"

namespace polybox::verify {
namespace {

using languages::Argv;
using languages::Verification;

std::vector<workspace::Glob> Compile(const std::vector<std::string>& patterns) {
  std::vector<workspace::Glob> globs;
  for (const std::string& pattern : patterns) {
    Result<workspace::Glob> glob = workspace::Glob::Compile(pattern);
    if (glob.ok()) globs.push_back(std::move(glob).value());
  }
  return globs;
}

bool Contains(const std::vector<int>& codes, int code) {
  return std::ranges::find(codes, code) != codes.end();
}

class FileDetector final : public Detector {
 public:
  explicit FileDetector(const languages::Language& language)
      : language_(language),
        markers_(Compile(language.verify->markers)),
        weak_markers_(Compile(language.verify->weak_markers)),
        extensions_(language.extensions) {
    const std::vector<std::string>& more = language.verify->extensions;
    extensions_.insert(extensions_.end(), more.begin(), more.end());
  }

  std::string_view Language() const override { return language_.id; }
  std::string_view Name() const override { return language_.name; }
  const Argv& LspCommand() const override { return language_.lsp; }
  const std::vector<std::string>& Extensions() const override { return extensions_; }

  bool Recognises(const Project& project, Strength strength) const override {
    const auto& globs = strength == Strength::kMarker ? markers_ : weak_markers_;
    return std::ranges::any_of(globs, [&](const workspace::Glob& glob) {
      return std::ranges::any_of(project.files(),
                                 [&](const std::string& file) { return glob.Matches(file); });
    });
  }

  Result<Plan> PlanFor(Check check, const Project& project,
                       const PlanOptions& options) const override;
  Result<Plan> ScriptFor(const Project& project, const std::string& name,
                         const std::vector<std::string>& arguments) const override;
  std::string ModuleOf(const Project& project) const override;
  bool RunsScripts() const override { return language_.scripts.has_value(); }
  ExitMeaning MeaningOf(Check check, int exit_code) const override;

 private:
  const Verification* Find(Check check) const;
  Error NotSupported(std::string_view what) const;
  /// Returns the words of the command that does what the options ask for.
  Result<Argv> WordsFor(Check check, const Verification& step, const PlanOptions& options) const;
  Result<Argv> TestWords(const Verification& step, const PlanOptions& options) const;
  Result<Argv> FormatWords(const Verification& step, const PlanOptions& options) const;

  const languages::Language& language_;
  const std::vector<workspace::Glob> markers_;
  const std::vector<workspace::Glob> weak_markers_;
  std::vector<std::string> extensions_;
};

const Verification* FileDetector::Find(Check check) const {
  const languages::Verify& verify = *language_.verify;
  const auto step = [](const std::optional<Verification>& each) { return each ? &*each : nullptr; };
  switch (check) {
    case Check::kTest:
      return step(verify.test);
    case Check::kLint:
      return step(verify.lint);
    case Check::kTypecheck:
      return step(verify.typecheck);
    case Check::kFormat:
      return step(verify.format);
    case Check::kCoverage:
      return step(verify.coverage);
  }
  return nullptr;
}

Error FileDetector::NotSupported(std::string_view what) const {
  return Error(ErrorKind::kInvalid, fmt::format("{} is not supported for {}: its language file has "
                                                "no command for it",
                                                what, language_.id));
}

Result<Argv> FileDetector::TestWords(const Verification& step, const PlanOptions& options) const {
  if (!options.tests.empty()) {
    if (step.select.empty()) return NotSupported("a run of named tests");
    return ExpandSelection(step.select, options.tests, options.ids);
  }
  if (options.filter.empty()) return step.command;
  if (step.filter.empty()) return NotSupported("a test filter");
  return languages::Expand(step.filter, {{"filter", options.filter}});
}

Result<Argv> FileDetector::FormatWords(const Verification& step, const PlanOptions& options) const {
  const bool whole = options.file.empty();
  if (whole && step.project.empty()) return NotSupported("formatting a whole project");
  if (options.apply && step.apply.empty()) return NotSupported("applying a format");
  if (whole && !options.apply) return step.project;
  // A file name that begins with "-" must not be taken for an option.
  const std::string file = whole ? "." : "./" + options.file;
  return languages::Expand(options.apply ? step.apply : step.command, {{"file", file}});
}

Result<Argv> FileDetector::WordsFor(Check check, const Verification& step,
                                    const PlanOptions& options) const {
  if (check == Check::kTest) return TestWords(step, options);
  if (check == Check::kFormat) return FormatWords(step, options);
  return step.command;
}

Result<Plan> FileDetector::PlanFor(Check check, const Project& project,
                                   const PlanOptions& options) const {
  const Verification* step = Find(check);
  if (step == nullptr) return NotSupported(CheckName(check));
  Plan plan = {.language = language_.id,
               .check = check,
               .binaries = step->binaries,
               .path = language_.verify->path,
               .parser = FindParser(step->parser),
               .patterns = step->patterns ? &*step->patterns : nullptr,
               .report = step->report};
  if (language_.scripts && !step->script.empty()) {
    const ProjectScripts scripts(*language_.scripts, project);
    if (const std::optional<std::string> body = scripts.Find(step->script)) {
      POLYBOX_RETURN_IF_ERROR(scripts.PlanCheck(*step, *body, options, plan));
      return plan;
    }
  }
  POLYBOX_ASSIGN_OR_RETURN(plan.argv, WordsFor(check, *step, options));
  // What a formatter says about the files that it changed has no common format.
  if (options.apply) plan.parser = FindParser("exit-status");
  return plan;
}

Result<Plan> FileDetector::ScriptFor(const Project& project, const std::string& name,
                                     const std::vector<std::string>& arguments) const {
  if (!language_.scripts) return NotSupported("scripts");
  Plan plan = {.language = language_.id, .path = language_.verify->path};
  const ProjectScripts scripts(*language_.scripts, project);
  POLYBOX_RETURN_IF_ERROR(scripts.PlanScript(name, arguments, plan));
  return plan;
}

std::string FileDetector::ModuleOf(const Project& project) const {
  const std::vector<std::string>& module = language_.verify->module;
  if (module.empty()) return "";
  const std::optional<std::string> text = project.Read(module.front());
  const std::string word = module.back() + " ";
  for (const std::string& line : Split(text.value_or(""), '\n')) {
    if (!line.starts_with(word)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", word.size());
    if (begin == std::string::npos) return "";
    return line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
  }
  return "";
}

ExitMeaning FileDetector::MeaningOf(Check check, int exit_code) const {
  const Verification* step = Find(check);
  if (step == nullptr) return exit_code == 0 ? ExitMeaning::kOk : ExitMeaning::kToolFailed;
  if (Contains(step->ok, exit_code)) return ExitMeaning::kOk;
  if (Contains(step->findings, exit_code)) return ExitMeaning::kFindings;
  if (Contains(step->nothing, exit_code)) return ExitMeaning::kNothing;
  return ExitMeaning::kToolFailed;
}

}  // namespace

std::string_view CheckName(Check check) {
  switch (check) {
    case Check::kTest:
      return "test";
    case Check::kLint:
      return "lint";
    case Check::kTypecheck:
      return "typecheck";
    case Check::kFormat:
      return "format";
    case Check::kCoverage:
      return "coverage";
  }
  return "";
}

std::unique_ptr<const Detector> MakeDetector(const languages::Language& language) {
  return std::make_unique<FileDetector>(language);
}

}  // namespace polybox::verify
