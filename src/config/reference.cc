#include "config/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/settings.h"

namespace polybox::config {
namespace {

constexpr std::string_view kHead = R"(# Settings

Made from the table in `src/config/settings.cc` by `make docs`; do not edit.

A setting can be given as a flag of the commands that use it (`--log-level debug`), in the environment
(`POLYBOX_LOG_LEVEL=debug`) or in the settings file (`log-level = "debug"`, TOML). A flag wins over the
environment, the environment over the file, the file over the default. A setting that takes several values is a
flag given several times, a variable with `:` between them (`,` between hosts), or a list in the file. A switch is
a flag alone (`--insecure`) or with its value (`--metrics=false`). Numbers without a unit are for flags and
variables; the file names the unit.

An unknown name or a value that is not allowed stops the start and says where it stands and what is allowed. An
empty environment variable counts as not set. `polybox config` shows the values in force and where each comes
from.
)";

std::string Default(const Setting& setting) {
  if (!setting.default_doc.empty()) return std::string(setting.default_doc);
  const std::string value = ShowValue(Settings(), setting);
  return value.empty() ? "none" : fmt::format("`{}`", value);
}

std::string Allowed(const Setting& setting) {
  if (!setting.choices.empty()) return fmt::format("`{}`", fmt::join(setting.choices, "`, `"));
  if (setting.largest != std::numeric_limits<std::int64_t>::max()) {
    return fmt::format("{} to {}", setting.smallest, setting.largest);
  }
  if (std::holds_alternative<bool Settings::*>(setting.member)) return "`true`, `false`";
  if (!setting.bare_number) return ValueForm(setting);
  const bool size = std::holds_alternative<Bytes Settings::*>(setting.member);
  return ValueForm(setting) + (size ? " or a number of bytes" : " or a number of seconds");
}

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

std::string ReferencePage() {
  return std::string(kHead) + "\n## For every command\n" + Rows(Scope::kEverywhere) +
         "\n## For the server\n" + Rows(Scope::kServer);
}

}  // namespace polybox::config
