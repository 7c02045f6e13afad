// polybox config: the settings in force and where each comes from.
#include <memory>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "command.h"

namespace polybox::cmd {
namespace {

namespace json = boost::json;

/// A default that is worked out when it is needed, not a value yet.
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
  json::value operator()(std::int64_t value) const { return value; }
  json::value operator()(bool value) const { return value; }
  json::value operator()(const std::string& value) const { return json::value(value); }
  json::value operator()(const std::vector<std::string>& value) const {
    return json::value_from(value);
  }
  json::value operator()(Bytes value) const { return value.count(); }
  json::value operator()(Duration value) const { return json::value(FormatDuration(value)); }
};

void PrintJson(const config::Loaded& loaded, const Terminal& out) {
  json::object all;
  for (const config::Setting& setting : config::AllSettings()) {
    json::value value =
        std::visit([&](auto member) { return ToJson()(loaded.settings.*member); }, setting.member);
    if (IsComputed(loaded, setting)) value = nullptr;
    all[setting.key] = {{"value", std::move(value)}, {"from", loaded.OriginOf(setting.key).name}};
  }
  out.PrintLine(json::serialize(all));
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
          .takes_server_settings = true};
}

}  // namespace polybox::cmd
