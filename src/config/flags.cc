#include "config/flags.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace polybox::config {

void AddFlags(CLI::App& app, Scope scope, std::vector<std::pair<std::string, std::string>>& given) {
  const Settings defaults;
  for (const Setting& setting : AllSettings()) {
    if (setting.scope != scope) continue;
    const std::string shown = setting.default_doc.empty() ? ShowValue(defaults, setting)
                                                          : std::string(setting.default_doc);
    std::string doc(setting.doc);
    if (!shown.empty()) doc += fmt::format(" [{}]", shown);
    // Values stay text here: the loader reads and checks them like those of every other source.
    app.add_option_function<std::vector<std::string>>(
           fmt::format("--{}", setting.key),
           [&given, key = std::string(setting.key)](const std::vector<std::string>& values) {
             for (const std::string& value : values) given.emplace_back(key, value);
           },
           doc)
        ->allow_extra_args(false)
        ->type_name(ValueForm(setting))
        ->group("Settings");
  }
}

}  // namespace polybox::config
