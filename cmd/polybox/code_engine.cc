#include "code_engine.h"

#include <mutex>

#include "caches.h"
#include "egress.h"
#include "engine_settings.h"
#include "exec/mode.h"
#include "http/doors/code_runner.h"
#include "http/doors/why_not.h"
#include "installed.h"
#include "net/egress_ledger.h"
#include "packages.h"

namespace polybox::cmd {
namespace {

/// Programs that may wait for a free place. An agent calls a few tools at once.
constexpr std::int64_t kQueue = 64;

/// An engine for the programs of one agent. All parts are made once; any thread.
class CodeEngine {
 public:
  static Result<std::unique_ptr<CodeEngine>> Make(const Context& context,
                                                  const launch::JailHome& home) {
    POLYBOX_ASSIGN_OR_RETURN(languages::Registry registry, LoadRegistry(context.config.settings));
    std::unique_ptr<CodeEngine> made(new CodeEngine(context, std::move(registry)));
    POLYBOX_RETURN_IF_ERROR(made->Start(context, home));
    return made;
  }

  tools::CodeRunner& runner() { return *runner_; }

 private:
  CodeEngine(const Context& context, languages::Registry registry)
      : registry_(std::move(registry)),
        catalog_(registry_, FinderFor(context.config.settings), context.log),
        caches_(context, [&context](const Error& error) {
          context.log.Warn(error.message(), {{"fix", error.fix()}});
        }) {}

  Status Start(const Context& context, const launch::JailHome& home) {
    const config::Settings& settings = context.config.settings;
    POLYBOX_ASSIGN_OR_RETURN(
        egress_, GuestEgressFor(settings, home.grade(),
                                std::make_shared<net::EgressLedger>("guest", context.log)));
    packages::PackageSourceOptions packages = PackagesOf(settings);
    packages.ledger = std::make_shared<net::EgressLedger>("installer", context.log);
    POLYBOX_ASSIGN_OR_RETURN(packages_, caches_.OpenPackages(home, std::move(packages)));
    compiled_ = caches_.OpenCompileCache();
    preparer_ = caches_.OpenPreparer(home, compile::Preparer::Mode::kLook);
    exec::EngineOptions engine;
    engine.lanes = {{.name = "execute", .concurrency = PlacesOf(settings), .queue = kQueue}};
    engine.warm = false;
    engine.guest_egress = egress_.get();
    engine.packages = packages_.get();
    engine.compile_cache = compiled_.get();
    engine.preparer = preparer_.get();
    POLYBOX_ASSIGN_OR_RETURN(engine.requirements_for, RequirementsFor(settings, registry_));
    engine.on_shared = [&context](const std::string& what) {
      context.log.Warn("guests share something with the host", {{"what", what}});
    };
    executor_ = exec::MakeEngine(catalog_, home, std::move(engine));
    POLYBOX_ASSIGN_OR_RETURN(http::ExecuteOptions options, OptionsFor(settings));
    runner_ = std::make_unique<http::ExecuteRunner>(*executor_, std::move(options));
    return {};
  }

  Result<http::ExecuteOptions> OptionsFor(const config::Settings& settings) const {
    const Result<exec::ModeCandidate> mode = exec::ChooseMode(
        settings.mode, exec::ModeCandidates(registry_.all(), catalog_.toolchains(), SearchPath()));
    // Without a mode, each call must name its language.
    if (!mode.ok() && !settings.mode.empty()) return mode.error();
    http::ExecuteOptions options;
    for (const launch::Installation& installation : catalog_.available()) {
      options.languages.push_back(http::FactsOf(installation));
    }
    options.why_not = http::WhyNotIn(catalog_);
    if (mode.ok()) options.language = mode->language;
    options.capacity = PlacesOf(settings);
    options.output_directory = settings.output_dir;
    options.largest_timeout = settings.max_timeout;
    return options;
  }

  const languages::Registry registry_;
  const exec::Catalog catalog_;
  const Caches caches_;
  std::unique_ptr<exec::GuestEgress> egress_;
  std::unique_ptr<packages::PackageSource> packages_;
  std::unique_ptr<compile::CompileCache> compiled_;
  std::unique_ptr<compile::Preparer> preparer_;
  /// Uses all members above, so it ends before them.
  std::shared_ptr<exec::Executor> executor_;
  std::unique_ptr<http::ExecuteRunner> runner_;
};

/// Makes the engine when the first program comes.
class LateEngine : public tools::CodeRunner {
 public:
  LateEngine(const Context& context, MachineHome& home) : context_(context), home_(home) {}

  Result<std::string> Run(const std::string& body, const Call& call) override {
    POLYBOX_ASSIGN_OR_RETURN(tools::CodeRunner* const runner, Find());
    return runner->Run(body, call);
  }

 private:
  /// A failure is found again at the next call: it may be a directory that was not writable.
  Result<tools::CodeRunner*> Find() {
    const std::lock_guard lock(mutex_);
    if (!engine_) {
      POLYBOX_ASSIGN_OR_RETURN(const launch::JailHome* const home, home_.Find());
      POLYBOX_ASSIGN_OR_RETURN(engine_, CodeEngine::Make(context_, *home));
    }
    return &engine_->runner();
  }

  const Context& context_;
  MachineHome& home_;
  std::mutex mutex_;
  /// Guarded by `mutex_`. Once made, it stays.
  std::unique_ptr<CodeEngine> engine_;
};

}  // namespace

std::unique_ptr<tools::CodeRunner> MakeCodeEngine(const Context& context, MachineHome& home) {
  return std::make_unique<LateEngine>(context, home);
}

}  // namespace polybox::cmd
