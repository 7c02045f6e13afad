// polybox languages: lists the languages that run on this host and what each supports.
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.h"
#include "complaint.h"
#include "installed.h"
#include "json/write.h"

namespace polybox::cmd {
namespace {

using languages::Language;
using languages::Toolchain;

/// Returns a language as `polybox languages --json` shows it. Every language has the same members,
/// so that programs need not test for them.
json::Value ToJson(const Language& language, const Result<Toolchain>& toolchain) {
  json::Object object = {{"id", language.id},
                         {"name", language.name},
                         {"aliases", json::Texts(language.aliases)},
                         {"extensions", json::Texts(language.extensions)},
                         {"available", toolchain.ok()}};
  if (toolchain.ok()) {
    object["reason"] = nullptr;
    object["fix"] = nullptr;
    object["version"] = toolchain->version;
    object["binary"] = toolchain->binary;
    object["executable"] = toolchain->executable;
    object["root"] = toolchain->roots[0];
    object["roots"] = json::Texts(toolchain->roots);
  } else {
    object["reason"] = toolchain.error().message();
    object["fix"] = toolchain.error().fix();
    for (const char* key : {"version", "binary", "executable", "root"}) object[key] = nullptr;
    object["roots"] = json::Array();
  }
  object["supports"] = json::Texts(Capabilities(language));
  object["described"] = json::Texts(Described(language));
  object["preinstalled_packages"] =
      json::Texts(language.packages ? language.packages->preinstalled : std::vector<std::string>());
  object["file"] = language.file;
  return object;
}

/// Prints all languages, also those that do not run here.
void PrintJson(const Installed& installed, const Terminal& out) {
  json::Array all;
  for (const Language& language : installed.registry.all()) {
    all.push_back(ToJson(language, installed.toolchains.at(language.id)));
  }
  out.PrintLine(json::Write(all));
}

/// Prints the languages that run here as a table. Each of the others gets a line with the reason
/// and the fix.
void PrintTable(const Installed& installed, const Terminal& out) {
  std::vector<std::vector<std::string>> available = {
      {"LANGUAGE", "ALIASES", "VERSION", "ROOT", "SUPPORTS", "DESCRIBED"}};
  std::vector<std::vector<std::string>> missing;
  for (const Language& language : installed.registry.all()) {
    const Result<Toolchain>& toolchain = installed.toolchains.at(language.id);
    if (toolchain.ok()) {
      available.push_back({language.id, fmt::format("{}", fmt::join(language.aliases, " ")),
                           toolchain->VersionNumber(), toolchain->roots[0],
                           fmt::format("{}", fmt::join(Capabilities(language), " ")),
                           fmt::format("{}", fmt::join(Described(language), " "))});
    } else {
      missing.push_back({"  " + language.id, toolchain.error().message(), toolchain.error().fix()});
    }
  }
  using enum Style;
  out.Print(Columns(available, {kBold, kDim, kGood, kDim, kPlain, kDim}, out));
  if (missing.empty()) return;
  out.PrintLine("\nNot available:");
  out.Print(Columns(missing, {kBold, kWarn, kDim}, out));
}

}  // namespace

Subcommand LanguagesCommand() {
  const auto as_json = std::make_shared<bool>(false);
  return {.name = "languages",
          .doc =
              "List the languages, whether they can run here, what each supports, and what its "
              "file says about projects",
          .options = {JsonOption(as_json)},
          .run = [as_json](const Context& context) -> int {
            const Result<Installed> installed = LoadInstalled(context.config.settings, context.log);
            if (!installed.ok()) {
              return Complain({.out = context.out,
                               .err = context.err,
                               .as_json = *as_json,
                               .text = installed.error().message()},
                              installed.error());
            }
            *as_json ? PrintJson(*installed, context.out) : PrintTable(*installed, context.out);
            return kSuccess;
          }};
}

}  // namespace polybox::cmd
