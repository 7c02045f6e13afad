// polybox doctor: what this host has, what is missing, what that costs and how to fix it.
#include <algorithm>
#include <memory>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "command.h"
#include "installed.h"
#include "jail/grade.h"
#include "sys/command.h"
#include "sys/host_facts.h"

namespace polybox::cmd {
namespace {

namespace json = boost::json;
using jail::HostCheck;

HostCheck CheckProgram(const std::string& name, std::string cost, std::string fix) {
  const std::string found = sys::FindOnPath(name, SearchPath());
  return {.name = name,
          .ok = !found.empty(),
          .found = found.empty() ? "not on PATH" : found,
          .cost = std::move(cost),
          .fix = std::move(fix),
          .without = std::nullopt};
}

/// The package installers that the language files name.
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

struct Section {
  const char* title;
  std::vector<HostCheck> checks;
};

struct Report {
  std::string kernel;
  std::vector<Section> sections;
  jail::Grade grade = jail::Grade::kNone;
  bool any_language = false;

  bool CanRun() const { return any_language && grade != jail::Grade::kNone; }
};

Result<Report> Examine(const Context& context) {
  Report report;
  // Before anything may start threads: it forks.
  const sys::HostFacts facts = sys::ProbeHost();
  report.kernel = facts.kernel;
  std::vector<HostCheck> host = jail::CheckHost(facts);
  report.grade = jail::BestGrade(host);
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

void PrintCheck(const HostCheck& check, std::size_t width, const Terminal& out) {
  const std::string mark = check.ok        ? out.Styled(Style::kGood, "ok     ")
                           : check.without ? out.Styled(Style::kBad, "missing")
                                           : out.Styled(Style::kWarn, "missing");
  out.PrintLine(fmt::format("  {} {:{}}  {}", mark, check.name, width, check.found));
  if (check.ok) return;
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

json::value ToJson(const HostCheck& check) {
  json::object object = {{"name", check.name}, {"ok", check.ok}, {"found", check.found}};
  if (!check.ok) {
    object["cost"] = check.cost;
    object["fix"] = check.fix;
  }
  return object;
}

void PrintJson(const Report& report, const Terminal& out) {
  json::object object = {{"kernel", report.kernel},
                         {"isolation", jail::GradeName(report.grade)},
                         {"can_run", report.CanRun()}};
  for (const Section& section : report.sections) {
    std::string key = section.title;
    key[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(key[0])));
    json::array checks;
    for (const HostCheck& check : section.checks) checks.push_back(ToJson(check));
    object[key == "isolation" ? "host" : key] = std::move(checks);
  }
  out.PrintLine(json::serialize(object));
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
              context.err.PrintLine(report.error().message());
              return kUsage;
            }
            *as_json ? PrintJson(*report, context.out) : PrintText(*report, context.out);
            return report->CanRun() ? kSuccess : kFailure;
          }};
}

}  // namespace polybox::cmd
