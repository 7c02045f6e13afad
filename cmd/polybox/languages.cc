// polybox languages: what can run here and what each language supports.
#include <memory>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.h"
#include "installed.h"

namespace polybox::cmd {
namespace {

namespace json = boost::json;
using languages::Language;
using languages::Toolchain;

json::value Strings(const auto& texts) {
  json::array array;
  for (const auto& text : texts) array.emplace_back(std::string_view(text));
  return array;
}

json::value ToJson(const Language& language, const Result<Toolchain>& toolchain) {
  json::object object = {{"id", language.id},
                         {"name", language.name},
                         {"aliases", Strings(language.aliases)},
                         {"extensions", Strings(language.extensions)},
                         {"available", toolchain.ok()}};
  if (toolchain.ok()) {
    object["reason"] = nullptr;
    object["fix"] = nullptr;
    object["version"] = toolchain->version;
    object["binary"] = toolchain->binary;
    object["executable"] = toolchain->executable;
    object["root"] = toolchain->roots[0];
    object["roots"] = Strings(toolchain->roots);
  } else {
    object["reason"] = toolchain.error().message();
    object["fix"] = toolchain.error().fix();
    for (const char* key : {"version", "binary", "executable", "root"}) object[key] = nullptr;
    object["roots"] = json::array();
  }
  object["supports"] = Strings(Capabilities(language));
  object["preinstalled_packages"] =
      Strings(language.packages ? language.packages->preinstalled : std::vector<std::string>());
  object["file"] = language.file;
  return object;
}

void PrintJson(const Installed& installed, const Terminal& out) {
  json::array all;
  for (const Language& language : installed.registry.all()) {
    all.push_back(ToJson(language, installed.toolchains.at(language.id)));
  }
  out.PrintLine(json::serialize(all));
}

void PrintTable(const Installed& installed, const Terminal& out) {
  std::vector<std::vector<std::string>> available = {
      {"LANGUAGE", "ALIASES", "VERSION", "ROOT", "SUPPORTS"}};
  std::vector<std::vector<std::string>> missing;
  for (const Language& language : installed.registry.all()) {
    const Result<Toolchain>& toolchain = installed.toolchains.at(language.id);
    if (toolchain.ok()) {
      available.push_back({language.id, fmt::format("{}", fmt::join(language.aliases, " ")),
                           toolchain->VersionNumber(), toolchain->roots[0],
                           fmt::format("{}", fmt::join(Capabilities(language), " "))});
    } else {
      missing.push_back({"  " + language.id, toolchain.error().message(), toolchain.error().fix()});
    }
  }
  using enum Style;
  out.Print(Columns(available, {kBold, kDim, kGood, kDim, kPlain}, out));
  if (missing.empty()) return;
  out.PrintLine("\nNot available:");
  out.Print(Columns(missing, {kBold, kWarn, kDim}, out));
}

}  // namespace

Subcommand LanguagesCommand() {
  const auto as_json = std::make_shared<bool>(false);
  return {.name = "languages",
          .doc = "List the languages, whether they can run here, and what each supports",
          .options = {JsonOption(as_json)},
          .run = [as_json](const Context& context) -> int {
            const Result<Installed> installed = LoadInstalled(context.config.settings, context.log);
            if (!installed.ok()) {
              context.err.PrintLine(installed.error().message());
              return kUsage;
            }
            *as_json ? PrintJson(*installed, context.out) : PrintTable(*installed, context.out);
            return kSuccess;
          }};
}

}  // namespace polybox::cmd
