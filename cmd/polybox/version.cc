// polybox version: prints which build this is.
#include <memory>

#include <fmt/format.h>

#include "build_info.h"
#include "command.h"
#include "json/write.h"

namespace polybox::cmd {

Subcommand VersionCommand() {
  const auto as_json = std::make_shared<bool>(false);
  return {.name = "version",
          .doc = "Print the version, as --version does",
          .options = {JsonOption(as_json)},
          .run = [as_json](const Context& context) -> int {
            if (*as_json) {
              context.out.PrintLine(json::Write(json::Object{
                  {"version", kVersion}, {"commit", kCommit}, {"compiler", __VERSION__}}));
            } else {
              context.out.PrintLine(fmt::format("polybox {} ({})", kVersion, kCommit));
            }
            return kSuccess;
          }};
}

}  // namespace polybox::cmd
