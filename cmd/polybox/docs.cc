// polybox docs PAGE: the pages under docs/ that are made from tables. `make docs` writes them;
// tests fail when they are stale. Not listed in --help: it is for those who work on polybox.
#include <memory>

#include "build_info.h"
#include "command.h"
#include "config/reference.h"
#include "http/doors/run.h"
#include "http/doors/runtime.h"
#include "http/openapi.h"
#include "http/readiness.h"
#include "http/serve.h"
#include "languages/builtin.h"
#include "languages/reference.h"
#include "languages/registry.h"

namespace polybox::cmd {
namespace {

/// For doors that are only looked at.
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

/// The OpenAPI document of a server with every built-in language, tokens, and the default settings.
Result<std::string> ApiPage(const languages::Registry& registry) {
  std::vector<http::LanguageFacts> known;
  for (const languages::Language& language : registry.all()) {
    http::LanguageFacts facts;
    facts.id = language.id;
    known.push_back(std::move(facts));
  }
  NoExecutor executor;
  http::ExecuteOptions execute;
  execute.languages = known;
  execute.mode = "python";
  http::RunOptions run;
  run.languages = known;
  run.metrics = [] { return std::string(); };
  return http::DescribeApi(
      {http::MakeExecuteDoor(executor, std::move(execute), nullptr),
       http::MakeRunDoor(executor, std::move(run)), http::MakeRuntimeDoor({}),
       http::MakeReadyDoor(nullptr)},
      {.version = std::string(kVersion), .needs_token = true, .open = http::OpenRequests()});
}

Result<std::string> Page(const std::string& name) {
  if (name == "settings") return config::ReferencePage();
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
                       .doc = "settings, languages or openapi",
                       .into = page,
                       .choices = {"settings", "languages", "openapi"},
                       .required = true}},
          .run = [page](const Context& context) -> int {
            const Result<std::string> text = Page(*page);
            if (!text.ok()) {
              context.err.PrintLine(text.error().message());
              return kUsage;
            }
            context.out.Print(*text);
            return kSuccess;
          },
          .hidden = true};
}

}  // namespace polybox::cmd
