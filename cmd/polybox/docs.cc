// polybox docs PAGE: prints the pages under docs/ that are generated from tables. `make docs`
// writes them; tests fail when they are out of date. Hidden in --help, because only developers of
// polybox need it.
#include <memory>

#include "build_info.h"
#include "command.h"
#include "complaint.h"
#include "config/reference.h"
#include "http/doors/door_table.h"
#include "http/openapi.h"
#include "languages/builtin.h"
#include "languages/reference.h"
#include "languages/registry.h"
#include "tools/all_tools.h"
#include "tools/reference.h"
#include "tools/registry.h"

namespace polybox::cmd {
namespace {

/// An executor for doors that describe themselves and get no requests.
class NoExecutor : public exec::Executor {
 public:
  std::shared_ptr<exec::Ticket> Submit(exec::Request /*request*/, Done /*done*/) override {
    return nullptr;
  }
  exec::LaneLoad Load(std::size_t /*lane*/) const override { return {}; }
  void Drain() override {}
  bool AwaitIdle(Duration /*time*/) override { return true; }
  void CancelAll() override {}
};

/// Returns the OpenAPI document of a server with every built-in language, tokens, and the default
/// settings.
Result<std::string> ApiPage(const languages::Registry& registry) {
  std::vector<http::LanguageFacts> known;
  for (const languages::Language& language : registry.all()) {
    http::LanguageFacts facts;
    facts.id = language.id;
    known.push_back(std::move(facts));
  }
  NoExecutor executor;
  obs::Metrics metrics;
  POLYBOX_ASSIGN_OR_RETURN(tools::Registry tools, tools::Registry::Make(tools::AllTools()));
  const mcp::Dispatcher dispatcher({.tools = std::move(tools), .version = kVersion},
                                   log::Logger::ToStderr({}));
  POLYBOX_ASSIGN_OR_RETURN(
      const std::vector<http::Door> doors,
      http::MakeDoors({.settings = {},
                       .executor = executor,
                       .metrics = metrics,
                       .readiness = nullptr,
                       .languages = {.available = std::move(known), .mode = "python"},
                       .files = {},
                       .mcp = {.dispatcher = &dispatcher}}));
  return http::DescribeApi(doors, {.version = std::string(kVersion), .needs_token = true});
}

Result<std::string> Page(const std::string& name) {
  if (name == "settings") return config::ReferencePage();
  if (name == "tools") {
    POLYBOX_ASSIGN_OR_RETURN(const tools::Registry tools, tools::Registry::Make(tools::AllTools()));
    return tools::ReferencePage(tools);
  }
  POLYBOX_ASSIGN_OR_RETURN(const languages::Registry registry,
                           languages::Registry::Load(languages::BuiltinFiles(), {}));
  return name == "openapi" ? ApiPage(registry) : languages::ReferencePage(registry);
}

}  // namespace

Subcommand DocsCommand() {
  const auto page = std::make_shared<std::string>();
  return {.name = "docs",
          .doc = "Print a generated page of the documentation",
          .options = {{.name = "page",
                       .doc = "settings, languages, openapi or tools",
                       .into = page,
                       .choices = {"settings", "languages", "openapi", "tools"},
                       .required = true}},
          .run = [page](const Context& context) -> int {
            const Result<std::string> text = Page(*page);
            if (!text.ok()) {
              return Complain({.out = context.out, .err = context.err}, text.error());
            }
            context.out.Print(*text);
            return kSuccess;
          },
          .hidden = true};
}

}  // namespace polybox::cmd
