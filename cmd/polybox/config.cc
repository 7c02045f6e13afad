// polybox config: prints the settings and the source of each.
#include <memory>

#include <fmt/format.h>

#include "command.h"
#include "json/write.h"

namespace polybox::cmd {
namespace {

/// Returns whether the default is computed when it is needed, so that there is no value to show.
bool IsComputed(const config::Loaded& loaded, const config::Setting& setting) {
  return loaded.OriginOf(setting.key).source == config::Source::kDefault &&
         config::ShowValue(loaded.settings, setting) ==
             config::ShowValue(config::Settings(), setting) &&
         !setting.default_doc.empty();
}

void PrintTable(const config::Loaded& loaded, const Terminal& out) {
  std::vector<std::vector<std::string>> rows = {{"SETTING", "VALUE", "FROM"}};
  for (const config::Setting& setting : config::AllSettings()) {
    const std::string value = IsComputed(loaded, setting)
                                  ? fmt::format("({})", setting.default_doc)
                                  : config::ShowValue(loaded.settings, setting);
    rows.push_back({std::string(setting.key), value, loaded.OriginOf(setting.key).name});
  }
  out.Print(Columns(rows, {Style::kBold, Style::kPlain, Style::kDim}, out));
}

struct ToJson {
  json::Value operator()(std::int64_t value) const { return value; }
  json::Value operator()(bool value) const { return value; }
  json::Value operator()(const std::string& value) const { return json::Text(value); }
  json::Value operator()(const std::vector<std::string>& value) const { return json::Texts(value); }
  json::Value operator()(Bytes value) const { return value.count(); }
  json::Value operator()(Duration value) const { return json::Value(FormatDuration(value)); }
};

void PrintJson(const config::Loaded& loaded, const Terminal& out) {
  json::Object all;
  for (const config::Setting& setting : config::AllSettings()) {
    json::Value value =
        std::visit([&](auto member) { return ToJson()(loaded.settings.*member); }, setting.member);
    if (IsComputed(loaded, setting)) value = nullptr;
    all[setting.key] = {{"value", std::move(value)}, {"from", loaded.OriginOf(setting.key).name}};
  }
  out.PrintLine(json::Write(all));
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
          },
          .takes_server_settings = true,
          .takes_agent_settings = true};
}

}  // namespace polybox::cmd
