// polybox doctor: reports what this host offers, what is missing, what that costs and how to fix
// it.
#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "command.h"
#include "complaint.h"
#include "exec/ground.h"
#include "installed.h"
#include "jail/grade.h"
#include "json/write.h"
#include "machine/find_identity.h"
#include "sys/command.h"
#include "sys/host_facts.h"
#include "workspace/workspace.h"

namespace polybox::cmd {
namespace {

using jail::Grade;
using jail::HostCheck;

/// Checks for a program on PATH. Its absence does not weaken the isolation, so `without` is empty.
HostCheck CheckProgram(const std::string& name, std::string cost, std::string fix) {
  const std::string found = sys::FindOnPath(name, SearchPath());
  return {.name = name,
          .ok = !found.empty(),
          .found = found.empty() ? "not on PATH" : found,
          .cost = std::move(cost),
          .fix = std::move(fix),
          .without = std::nullopt};
}

/// Checks for the package installers that the language files name.
std::vector<HostCheck> CheckTools(const languages::Registry& registry) {
  std::vector<HostCheck> checks;
  for (const languages::Language& language : registry.all()) {
    if (!language.packages) continue;
    for (const std::string& binary : language.packages->binaries) {
      const auto is_named = [&](const HostCheck& check) { return check.name == binary; };
      if (std::ranges::any_of(checks, is_named)) continue;
      checks.push_back(CheckProgram(
          binary, fmt::format("{} packages cannot be installed on request", language.name),
          fmt::format("install {} and put it on PATH", binary)));
    }
  }
  return checks;
}

/// Returns the result of looking for a toolchain in the form of a check of the host.
HostCheck CheckLanguage(const languages::Language& language,
                        const Result<languages::Toolchain>& toolchain) {
  if (toolchain.ok()) {
    return {.name = language.id,
            .ok = true,
            .found = fmt::format("{} ({})", toolchain->version, toolchain->executable),
            .cost = "",
            .fix = "",
            .without = std::nullopt};
  }
  return {.name = language.id,
          .ok = false,
          .found = toolchain.error().message(),
          .cost = language.name + " does not run here",
          .fix = toolchain.error().fix(),
          .without = std::nullopt};
}

/// Says which user the commands of the configured workspace are; nothing if there is none.
std::optional<HostCheck> CheckWorkspace(const launch::JailHome& home,
                                        const config::Settings& settings) {
  const auto workspace = workspace::Workspace::Open("", settings.workspace, {});
  if (!workspace.ok()) return {};
  const auto as_root =
      settings.workspace_as_root ? machine::AsRoot::kAllow : machine::AsRoot::kRefuse;
  const auto identity = machine::FindIdentity(**workspace, home, as_root);
  HostCheck check;
  check.name = "commands in the workspace";
  check.ok = identity.ok();
  check.found = identity.ok() ? machine::DescribeIdentity(*identity) : identity.error().message();
  check.cost = "agents cannot run commands in " + (*workspace)->path();
  if (!identity.ok()) check.fix = identity.error().fix();
  return check;
}

/// Runs a program in a slot, in the best grade in which that works. Stores that grade in `grade`.
HostCheck CheckSlot(const std::vector<HostCheck>& host, Grade& grade,
                    std::optional<launch::JailHome>& made) {
  HostCheck check = {.name = "a program in a slot",
                     .ok = true,
                     .found = "",
                     .cost = "that grade is not used",
                     .fix = "see what the step needs; in a container, allow it",
                     .without = Grade::kNone};
  const Result<exec::Descent> possible =
      exec::Descent::From(host, {.minimum = Grade::kLandlock, .wanted = std::nullopt});
  // Without a possible grade there is nothing to try. The checks before this one name the reasons.
  if (!possible.ok()) {
    grade = Grade::kNone;
    check.found = "not tried: no grade is possible";
    check.ok = false;
    check.fix = "see what is missing above";
    return check;
  }
  exec::Descent descent = *possible;
  Result<launch::JailHome> home = exec::FindGround(descent);
  grade = home.ok() ? home->grade() : Grade::kNone;
  check.found =
      home.ok() ? fmt::format("runs in grade {}", jail::GradeName(grade)) : "no grade works";
  check.ok = home.ok() && descent.passed_over().empty();
  for (const std::string& why : descent.passed_over()) check.found += "; " + why;
  const std::string limits = home.ok() ? jail::LimitsNote(grade) : "";
  if (!limits.empty()) check.found += "; " + limits;
  if (home.ok()) {
    check.without = std::nullopt;
    made.emplace(std::move(home).value());
  } else {
    check.cost = "nothing can run isolated";
    check.fix = home.error().fix();
  }
  return check;
}

/// Checks under one title. The title is also the key of the checks in the JSON form.
struct Section {
  const char* title;
  std::vector<HostCheck> checks;
};

struct Report {
  std::string kernel;
  std::vector<Section> sections;
  jail::Grade grade = jail::Grade::kNone;
  bool any_language = false;

  /// Decides the exit code, so that scripts can ask whether this host is usable at all.
  bool CanRun() const { return any_language && grade != jail::Grade::kNone; }
};

/// Runs all checks. An error means that a check itself failed, not that something is missing.
Result<Report> Examine(const Context& context) {
  Report report;
  const sys::HostFacts facts = sys::ProbeHost();
  report.kernel = facts.kernel;
  std::vector<HostCheck> host = jail::CheckHost(facts);
  std::optional<launch::JailHome> home;
  host.push_back(CheckSlot(host, report.grade, home));
  if (home) {
    if (auto check = CheckWorkspace(*home, context.config.settings)) host.push_back(*check);
  }
  POLYBOX_ASSIGN_OR_RETURN(const Installed installed,
                           LoadInstalled(context.config.settings, context.log));
  Section toolchains = {"Languages", {}};
  for (const languages::Language& language : installed.registry.all()) {
    toolchains.checks.push_back(CheckLanguage(language, installed.toolchains.at(language.id)));
    report.any_language |= toolchains.checks.back().ok;
  }
  Section tools = {"Tools", CheckTools(installed.registry)};
  report.sections = {{"Isolation", std::move(host)}, std::move(toolchains), std::move(tools)};
  return report;
}

/// Prints a check in a line. If it failed, two more lines say what that costs and how to fix it.
/// Red marks a failure that weakens the isolation.
void PrintCheck(const HostCheck& check, std::size_t width, const Terminal& out) {
  const std::string mark = check.ok        ? out.Styled(Style::kGood, "ok     ")
                           : check.without ? out.Styled(Style::kBad, "missing")
                                           : out.Styled(Style::kWarn, "missing");
  out.PrintLine(fmt::format("  {} {:{}}  {}", mark, check.name, width, check.found));
  if (check.ok) return;
  // Below the text `found`: two spaces, the mark of seven characters, a space, the name, and two
  // spaces.
  const std::string indent(width + 12, ' ');
  out.PrintLine(fmt::format("{}cost: {}", indent, check.cost));
  out.PrintLine(fmt::format("{}fix:  {}", indent, check.fix));
}

void PrintText(const Report& report, const Terminal& out) {
  out.PrintLine(fmt::format("Linux {}", report.kernel));
  for (const Section& section : report.sections) {
    out.PrintLine("\n" + out.Styled(Style::kBold, section.title));
    std::size_t width = 0;
    for (const HostCheck& check : section.checks) width = std::max(width, check.name.size());
    for (const HostCheck& check : section.checks) PrintCheck(check, width, out);
  }
  out.Print("\n");
  if (!report.any_language) {
    out.PrintLine(out.Styled(Style::kBad, "Nothing can run: no toolchain works here."));
  }
  if (report.grade == jail::Grade::kNone) {
    out.PrintLine(out.Styled(Style::kBad, "Nothing can run isolated: see what is missing above."));
  }
  const Style style = report.grade == jail::Grade::kFull   ? Style::kGood
                      : report.grade == jail::Grade::kNone ? Style::kBad
                                                           : Style::kWarn;
  out.PrintLine(fmt::format("Isolation grade of this host: {}",
                            out.Styled(style, jail::GradeName(report.grade))));
}

/// Returns the check as JSON. Scripts find cost and fix only in failed checks.
json::Value ToJson(const HostCheck& check) {
  json::Object object = {{"name", check.name}, {"ok", check.ok}, {"found", check.found}};
  if (!check.ok) {
    object["cost"] = check.cost;
    object["fix"] = check.fix;
  }
  return object;
}

void PrintJson(const Report& report, const Terminal& out) {
  json::Object object = {{"kernel", report.kernel},
                         {"isolation", jail::GradeName(report.grade)},
                         {"can_run", report.CanRun()}};
  for (const Section& section : report.sections) {
    std::string key = section.title;
    key[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(key[0])));
    json::Array checks;
    for (const HostCheck& check : section.checks) checks.push_back(ToJson(check));
    // "isolation" is already the grade, so these checks have another key.
    object[key == "isolation" ? "host" : key] = std::move(checks);
  }
  out.PrintLine(json::Write(object));
}

}  // namespace

Subcommand DoctorCommand() {
  const auto as_json = std::make_shared<bool>(false);
  return {.name = "doctor",
          .doc = "Check what this host has, say what is missing, what that costs and how to fix it",
          .options = {JsonOption(as_json)},
          .run = [as_json](const Context& context) -> int {
            const Result<Report> report = Examine(context);
            if (!report.ok()) {
              return Complain({.out = context.out,
                               .err = context.err,
                               .as_json = *as_json,
                               .text = report.error().message()},
                              report.error());
            }
            *as_json ? PrintJson(*report, context.out) : PrintText(*report, context.out);
            return report->CanRun() ? kSuccess : kFailure;
          }};
}

}  // namespace polybox::cmd
