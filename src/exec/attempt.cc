#include "exec/attempt.h"

#include <chrono>

#include "exec/command.h"
#include "exec/requirement_rule.h"

namespace polybox::exec {
namespace {

using Clock = std::chrono::steady_clock;

/// The time limit of an installation, if the request sets none.
constexpr auto kInstallTime = std::chrono::minutes(2);

Refusal Refused(RefusalKind kind, std::string message) {
  return {.kind = kind, .message = std::move(message)};
}

Refusal CancelledWhileRunning() {
  return Refused(RefusalKind::kCancelled, "cancelled while running");
}

}  // namespace

std::optional<Refusal> Attempt::RunProgram(const Program& program,
                                           const launch::Installation& known) {
  if (auto refusal = ProvidePackages(program, known)) return refusal;
  // Without its packages the program does not run; the report says why.
  if (report_.install_failure) return std::nullopt;
  ShowPreparedLayer();
  const auto spec = [&] { return launch::SpecFor(*installation_, grade()); };
  if (auto refusal = TakeSlot(Installations::KeyOf(*installation_), spec)) return refusal;
  return RunSession([&](Session& session) { return session.Run(program, *installation_); });
}

std::optional<Refusal> Attempt::RunCommand(const Command& command) {
  const auto& commands = options().commands;
  if (!commands) return Refused(RefusalKind::kUnavailable, "there are no commands here");
  const Catalog& catalog = terms_.facilities.catalog;
  const auto spec = [&] { return CommandSpec(*commands, catalog, grade()); };
  if (auto refusal = TakeSlot("command", spec)) return refusal;
  return RunSession([&](Session& session) {
    return session.RunCommand(CommandRun(*commands, catalog, grade(), command.argv),
                              options().command_space);
  });
}

std::optional<Refusal> Attempt::ProvidePackages(const Program& program,
                                                const launch::Installation& known) {
  if (!program.requirements.empty()) {
    switch (RuleFor(known.language, options().requirements_for)) {
      case RequirementRule::kInstall:
        return Install(program, known);
      case RequirementRule::kRefuse:
        return Refused(
            RefusalKind::kInvalid,
            WhyNoPackages(known.language, terms_.facilities.catalog, options().requirements_for));
      case RequirementRule::kIgnore:
        report_.requirements_ignored = program.requirements;
    }
  }
  installation_.emplace(*terms_.facilities.installations.Find(known.language.id));
  return std::nullopt;
}

std::optional<Refusal> Attempt::Install(const Program& program, const launch::Installation& known) {
  if (options().packages == nullptr) {
    report_.install_failure = "polybox: the server has no directory in which packages can be kept";
    return std::nullopt;
  }
  const auto begin = Clock::now();
  Result<packages::PackageSet> set =
      options().packages->Get(known, program.requirements,
                              {.time = program.install_time.value_or(kInstallTime),
                               .cancel = terms_.cancel,
                               .time_name = program.install_time_name,
                               .on_install = [this] { Tell(terms_.request, Stage::kInstalling); }});
  report_.install = Clock::now() - begin;
  if (terms_.cancel.stop_requested()) {
    return Refused(RefusalKind::kCancelled, "cancelled while packages were installed");
  }
  if (!set.ok() && set.error().kind() == ErrorKind::kInvalid) {
    return Refused(RefusalKind::kInvalid, set.error().message());
  }
  if (!set.ok()) {
    report_.install_failure = set.error().message();
    return std::nullopt;
  }
  installation_.emplace(terms_.facilities.installations.WithSet(known, *set));
  set_ = std::move(set->lease);
  return std::nullopt;
}

void Attempt::ShowPreparedLayer() {
  if (options().preparer != nullptr) {
    installation_->prepared = options().preparer->Get(*installation_);
  }
}

std::optional<Refusal> Attempt::TakeSlot(const std::string& key, const SlotPool::MakeSpec& spec) {
  if (terms_.cancel.stop_requested()) return CancelledWhileRunning();
  Result<std::unique_ptr<SlotPool::Loan>> taken = terms_.facilities.pool.Take(key, spec);
  if (!taken.ok()) return Refused(RefusalKind::kFailed, taken.error().message());
  loan_ = std::move(taken).value();
  // The slot keeps the set from being removed also while it is idle.
  if (set_ != nullptr) loan_->shown = set_;
  return std::nullopt;
}

std::optional<Refusal> Attempt::RunSession(const std::function<Status(Session&)>& run) {
  std::unique_ptr<net::EgressProxy>& egress = loan_->egress;
  Session session(*loan_->slot,
                  {.request = terms_.request,
                   .cancel = terms_.cancel,
                   .cache = options().compile_cache,
                   .egress = egress.get(),
                   .gate = terms_.gate},
                  report_);
  const Status status = run(session);
  // After the answer no connection of the session exists, so the proxy closes here. Destroying it
  // takes a moment; a proxy without connections can therefore wait until after the answer.
  if (egress != nullptr && !egress->Close()) egress.reset();
  if (!status.ok() && status.error().kind() == ErrorKind::kInvalid) {
    return Refused(RefusalKind::kInvalid, status.error().message());
  }
  broken_ = !status.ok();
  if (terms_.cancel.stop_requested()) return CancelledWhileRunning();
  if (!status.ok()) return Refused(RefusalKind::kFailed, status.error().message());
  return std::nullopt;
}

void Attempt::ReturnSlot() {
  if (broken_) return EndSlot();
  if (loan_ != nullptr) terms_.facilities.pool.Give(std::move(loan_));
}

void Attempt::EndSlot() {
  if (loan_ != nullptr) terms_.facilities.pool.Drop(std::move(loan_));
}

}  // namespace polybox::exec
