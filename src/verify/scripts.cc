#include "verify/scripts.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"
#include "base/split.h"
#include "json/parse.h"

namespace polybox::verify {
namespace {

using languages::ScriptRunner;

constexpr std::size_t kShownName = 80;

/// Returns the words of a script that is one plain command; nothing if the shell has more to do
/// than to split it. Variables before the command are left out.
std::optional<std::vector<std::string>> WordsOfPlainCommand(const std::string& body) {
  if (body.find_first_of("|&;<>()$`\\\"'\n*?[]{}~#") != std::string::npos) return {};
  std::vector<std::string> words;
  for (const std::string& word : Split(body, ' ')) {
    const bool is_variable = words.empty() && word.find('=') != std::string::npos;
    if (!word.empty() && !is_variable) words.push_back(word);
  }
  return words;
}

/// Returns the row whose words the script begins with; null if none does.
const ScriptRunner* RunnerOf(const std::vector<ScriptRunner>& runners, const std::string& body) {
  const std::optional<std::vector<std::string>> words = WordsOfPlainCommand(body);
  if (!words) return nullptr;
  const auto begins = [&](const ScriptRunner& row) {
    return words->size() >= row.words.size() &&
           std::equal(row.words.begin(), row.words.end(), words->begin());
  };
  const auto found = std::ranges::find_if(runners, begins);
  return found == runners.end() ? nullptr : &*found;
}

}  // namespace

const languages::PackageManager& ManagerOf(const languages::Scripts& scripts,
                                           const Project& project, const json::Value& manifest) {
  const json::Object* root = manifest.if_object();
  const json::Value* named =
      root == nullptr || scripts.manager.empty() ? nullptr : root->if_contains(scripts.manager);
  if (named != nullptr && named->is_string()) {
    const std::string_view text = named->get_string();
    const std::string_view name = text.substr(0, text.find('@'));
    const auto found = std::ranges::find(scripts.managers, name, &languages::PackageManager::name);
    if (found != scripts.managers.end()) return *found;
  }
  const auto has_lock = [&](const languages::PackageManager& manager) {
    return std::ranges::any_of(manager.locks,
                               [&](const std::string& lock) { return project.Has(lock); });
  };
  const auto found = std::ranges::find_if(scripts.managers, has_lock);
  return found == scripts.managers.end() ? scripts.managers.back() : *found;
}

ProjectScripts::ProjectScripts(const languages::Scripts& scripts, const Project& project)
    : scripts_(scripts), project_(project) {
  const std::optional<std::string> text = project.Read(scripts.manifest);
  if (!text) {
    problem_ = fmt::format("{} not found in workspace root", scripts.manifest);
    return;
  }
  Result<json::Value> parsed = json::Parse(*text);
  if (parsed.ok()) {
    manifest_ = std::move(parsed).value();
  } else {
    problem_ = fmt::format("parsing {}: {}", scripts.manifest, parsed.error().message());
  }
}

const json::Object* ProjectScripts::Table() const {
  const json::Object* root = manifest_.if_object();
  const json::Value* table = root == nullptr ? nullptr : root->if_contains(scripts_.table);
  return table == nullptr ? nullptr : table->if_object();
}

std::optional<std::string> ProjectScripts::Find(const std::string& name) const {
  const json::Object* table = Table();
  const json::Value* body = table == nullptr ? nullptr : table->if_contains(name);
  if (body == nullptr || !body->is_string()) return {};
  return std::string(body->get_string());
}

void ProjectScripts::SetCommand(const std::string& name, const std::vector<std::string>& arguments,
                                Plan& plan) const {
  const languages::PackageManager& manager = ManagerOf(scripts_, project_, manifest_);
  plan.argv = manager.run;
  plan.argv.push_back(name);
  if (!arguments.empty()) {
    plan.argv.insert(plan.argv.end(), manager.pass.begin(), manager.pass.end());
    plan.argv.insert(plan.argv.end(), arguments.begin(), arguments.end());
  }
  plan.binaries = {manager.run.front()};
  plan.script = name;
}

Status ProjectScripts::PlanCheck(const languages::Verification& step, const std::string& body,
                                 const PlanOptions& options, Plan& plan) const {
  if (!options.filter.empty() || !options.tests.empty()) {
    return Error(ErrorKind::kInvalid,
                 fmt::format("the script \"{}\" of {} decides which tests run; polybox cannot "
                             "select tests of it",
                             step.script, scripts_.manifest))
        .WithFix("Run the script with run_script and arguments of its test runner");
  }
  const ScriptRunner* runner = RunnerOf(step.runners, body);
  plan.report = {};
  if (runner == nullptr) {
    SetCommand(step.script, {}, plan);
    return {};
  }
  SetCommand(step.script, runner->add, plan);
  plan.parser = FindParser(runner->parser);
  const auto has_report = [](const std::string& word) {
    return word.find("{report}") != std::string::npos;
  };
  if (std::ranges::any_of(runner->add, has_report)) plan.report = "{report}";
  return {};
}

Status ProjectScripts::PlanScript(const std::string& name,
                                  const std::vector<std::string>& arguments, Plan& plan) const {
  if (!problem_.empty()) return Error(ErrorKind::kInvalid, problem_);
  if (!Find(name)) {
    std::vector<std::string> names;
    if (const json::Object* table = Table()) {
      for (const auto& [key, value] : *table) names.emplace_back(key);
    }
    std::ranges::sort(names);
    const std::string available =
        names.empty() ? "(none defined)" : fmt::format("{}", fmt::join(names, ", "));
    return Error(ErrorKind::kInvalid,
                 fmt::format("no script named \"{}\" in {}; available: {}",
                             PrintableForQuotes(name, kShownName), scripts_.manifest, available));
  }
  SetCommand(name, arguments, plan);
  return {};
}

}  // namespace polybox::verify
