// polybox docs PAGE: the pages under docs/ that are made from tables. `make docs` writes them;
// tests fail when they are stale. Not listed in --help: it is for those who work on polybox.
#include <memory>

#include "command.h"
#include "config/reference.h"
#include "languages/builtin.h"
#include "languages/reference.h"
#include "languages/registry.h"

namespace polybox::cmd {

Subcommand DocsCommand() {
  const auto page = std::make_shared<std::string>();
  return {.name = "docs",
          .doc = "Print a generated page of the documentation",
          .options = {{.name = "page",
                       .doc = "settings or languages",
                       .into = page,
                       .choices = {"settings", "languages"},
                       .required = true}},
          .run = [page](const Context& context) -> int {
            if (*page == "settings") {
              context.out.Print(config::ReferencePage());
              return kSuccess;
            }
            const auto registry = languages::Registry::Load(languages::BuiltinFiles(), {});
            if (!registry.ok()) {
              context.err.PrintLine(registry.error().message());
              return kUsage;
            }
            context.out.Print(languages::ReferencePage(*registry));
            return kSuccess;
          },
          .hidden = true};
}

}  // namespace polybox::cmd
