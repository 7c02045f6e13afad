#include "config/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/settings.h"

namespace polybox::config {
namespace {

/// The text before the tables. The page is generated, so this text is edited here.
constexpr std::string_view kHead = R"(# Settings

Made from the table in `src/config/settings.cc` by `make docs`; do not edit.

A setting can be given as a flag of the commands that use it (`--log-level debug`), in the environment
(`POLYBOX_LOG_LEVEL=debug`) or in the settings file (`log-level = "debug"`, TOML). A flag wins over the
environment, the environment over the file, the file over the default. A setting that takes several values is a
flag given several times, a variable with `:` between them (`,` between hosts), or a list in the file. A switch is
a flag alone (`--insecure`) or with its value (`--metrics=false`).

A TIME has a unit (`500ms`, `30s`, `5m`, `1h`) or counts seconds; a SIZE has a unit (`1000B`, `64KiB`, `8MiB`, `1GiB`, or
`K`, `M`, `G`) or counts bytes. That holds for flags, variables, the settings file and the limits of `polybox run`; language
files must name the unit. A size or a time of 0 is refused, except where the table has "0 for none".

An unknown name or a value that is not allowed stops the start and says where it stands and what is allowed. An
empty environment variable counts as not set. `polybox config` shows the values in force and where each comes
from.
)";

/// Returns the default as a cell of the table: the words of the row, else the value of an unchanged
/// Settings object.
std::string Default(const Setting& setting) {
  if (!setting.default_doc.empty()) return std::string(setting.default_doc);
  const std::string value = ShowValue(Settings(), setting);
  return value.empty() ? "none" : fmt::format("`{}`", value);
}

/// Returns the allowed values as a cell of the table, from the same members of the row by which
/// load.cc checks a value.
std::string Allowed(const Setting& setting) {
  if (!setting.choices.empty()) return fmt::format("`{}`", fmt::join(setting.choices, "`, `"));
  if (setting.largest != std::numeric_limits<std::int64_t>::max()) {
    return fmt::format("{} to {}", setting.smallest, setting.largest);
  }
  if (std::holds_alternative<bool Settings::*>(setting.member)) return "`true`, `false`";
  const bool has_unit = std::holds_alternative<Bytes Settings::*>(setting.member) ||
                        std::holds_alternative<Duration Settings::*>(setting.member);
  return ValueForm(setting) + (has_unit && setting.smallest == 0 ? ", 0 for none" : "");
}

/// Returns the table of all settings with this scope, in the order of AllSettings().
std::string Rows(Scope scope) {
  std::string text =
      "\n| setting | environment | allowed | default | meaning |\n|---|---|---|---|---|\n";
  for (const Setting& setting : AllSettings()) {
    if (setting.scope != scope) continue;
    std::vector<std::string> names = {EnvironmentName(setting)};
    names.insert(names.end(), setting.env.begin(), setting.env.end());
    text += fmt::format("| `{}` | `{}` | {} | {} | {} |\n", setting.key, fmt::join(names, "`, `"),
                        Allowed(setting), Default(setting), setting.doc);
  }
  return text;
}

}  // namespace

/// A part for each scope, since a reader looks for the settings of one command.
std::string ReferencePage() {
  return std::string(kHead) + "\n## For every command\n" + Rows(Scope::kEverywhere) +
         "\n## For the server\n" + Rows(Scope::kServer) + "\n## For the tools of agents\n" +
         Rows(Scope::kAgents);
}

}  // namespace polybox::config
