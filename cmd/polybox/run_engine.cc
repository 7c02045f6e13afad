#include "run_engine.h"

#include <fmt/format.h>

#include "egress.h"
#include "exec/warm.h"
#include "packages.h"
#include "packages/package_source.h"

namespace polybox::cmd {
namespace {

/// Returns an error when the language has no interpreter that can be started ahead.
Status CheckWarm(const exec::Catalog& catalog, const languages::Language& language) {
  const launch::Installation* known = catalog.Find(language.id);
  const bool possible =
      known != nullptr && exec::WarmFor(*known, {}, {}).start.kind != jail::WarmKind::kNone;
  if (possible) return {};
  return Error(ErrorKind::kInvalid,
               fmt::format("{} is not started ahead of its programs", language.name))
      .WithFix("leave out --warm");
}

}  // namespace

RunEngine::RunEngine(const Context& context, launch::JailHome home)
    : caches_(context,
              [&context](const Error& error) {
                context.err.PrintLine("polybox: warning: " + error.message());
                context.err.PrintLine("fix: " + error.fix());
              }),
      home_(std::move(home)) {}

Status RunEngine::OpenPackages(const Options& options, const Context& context,
                               exec::EngineOptions& engine) {
  if (!options.installs) return {};
  packages::PackageSourceOptions packages = PackagesOf(context.config.settings);
  packages.ledger = std::make_shared<net::EgressLedger>("installer", context.log);
  POLYBOX_ASSIGN_OR_RETURN(packages_, caches_.OpenPackages(home_, std::move(packages)));
  engine.packages = packages_.get();
  return {};
}

Result<std::unique_ptr<RunEngine>> RunEngine::Make(const exec::Catalog& catalog,
                                                   const languages::Language& language,
                                                   launch::JailHome home, const Options& options,
                                                   const Context& context) {
  const jail::Grade grade = home.grade();
  const bool warm = options.warm && jail::HasNamespaces(grade);
  if (warm) POLYBOX_RETURN_IF_ERROR(CheckWarm(catalog, language));
  std::unique_ptr<RunEngine> made(new RunEngine(context, std::move(home)));
  POLYBOX_ASSIGN_OR_RETURN(
      made->egress_, GuestEgressFor(context.config.settings, grade,
                                    std::make_shared<net::EgressLedger>("guest", context.log)));
  made->compiled_ = made->caches_.OpenCompileCache();
  made->preparer_ = made->caches_.OpenPreparer(made->home_, compile::Preparer::Mode::kLook);
  exec::EngineOptions engine;
  engine.lanes = {{.name = "run"}};
  engine.lanes[0].queue = 1;
  engine.warm = engine.await_warm = warm;
  engine.guest_egress = made->egress_.get();
  engine.compile_cache = made->compiled_.get();
  engine.preparer = made->preparer_.get();
  // A user who gives requirements on the command line wants them installed.
  engine.requirements_for = {language.id};
  engine.on_shared = [&context](const std::string& what) {
    context.log.Warn("the guest shares something with the host", {{"what", what}});
  };
  POLYBOX_RETURN_IF_ERROR(made->OpenPackages(options, context, engine));
  made->executor_ = exec::MakeEngine(catalog, made->home_, std::move(engine));
  return made;
}

}  // namespace polybox::cmd
