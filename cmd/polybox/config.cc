// polybox config: the settings in force and where each comes from.
#include <memory>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "command.h"

namespace polybox::cmd {
namespace {

void PrintTable(const config::Loaded& loaded, const Terminal& out) {
  std::vector<std::vector<std::string>> rows = {{"SETTING", "VALUE", "FROM"}};
  for (const config::Setting& setting : config::AllSettings()) {
    rows.push_back({std::string(setting.key), config::ShowValue(loaded.settings, setting),
                    loaded.OriginOf(setting.key).name});
  }
  out.Print(Columns(rows, {Style::kBold, Style::kPlain, Style::kDim}, out));
}

void PrintJson(const config::Loaded& loaded, const Terminal& out) {
  boost::json::object all;
  for (const config::Setting& setting : config::AllSettings()) {
    all[setting.key] = {{"value", config::ShowValue(loaded.settings, setting)},
                        {"from", loaded.OriginOf(setting.key).name}};
  }
  out.PrintLine(boost::json::serialize(all));
}

}  // namespace

Subcommand ConfigCommand() {
  const auto as_json = std::make_shared<bool>(false);
  return {.name = "config",
          .doc = "Show the settings in force and where each comes from",
          .options = {JsonOption(as_json)},
          .run = [as_json](const Context& context) -> int {
            *as_json ? PrintJson(context.config, context.out)
                     : PrintTable(context.config, context.out);
            return kSuccess;
          }};
}

}  // namespace polybox::cmd
