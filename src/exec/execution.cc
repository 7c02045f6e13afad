#include "exec/execution.h"

#include <algorithm>

#include <fmt/format.h>

#include "exec/fallback_note.h"

namespace polybox::exec {
namespace {

/// Returns the refusal of a program whose language does not run on this host.
Refusal Unavailable(const Catalog& catalog, const std::string& language) {
  const Error* reason = catalog.WhyNot(language);
  return {.kind = RefusalKind::kUnavailable,
          .message = reason != nullptr
                         ? fmt::format("{} does not run here: {}", language, reason->message())
                         : fmt::format("no language \"{}\"", language)};
}

}  // namespace

Execution::Execution(const Facilities& facilities, Request& request, std::stop_token cancel)
    : facilities_(facilities), request_(request), cancel_(std::move(cancel)) {}

Answer Execution::Run(Duration queued) {
  begun_.queued = queued;
  begun_.isolation = facilities_.home.grade();
  begun_.isolation_notes = facilities_.home.notes();
  return std::visit(Overloaded{[this](Program& program) { return RunProgram(program); },
                               [this](const Command& command) { return RunCommand(command); }},
                    request_.work);
}

AttemptTerms Execution::Terms() {
  return {.facilities = facilities_,
          .request = request_,
          .cancel = cancel_,
          .gate = gate_ ? &*gate_ : nullptr};
}

Answer Execution::RunCommand(const Command& command) {
  attempt_.emplace(Terms(), begun_);
  if (auto refusal = attempt_->RunCommand(command)) return *std::move(refusal);
  return attempt_->TakeReport();
}

Answer Execution::RunProgram(Program& program) {
  const launch::Installation* known = facilities_.catalog.Find(program.language);
  if (known == nullptr) return Unavailable(facilities_.catalog, program.language);
  const launch::Installation* other = FallbackFor(*known, program);
  return other == nullptr ? RunAs(*known, program) : RunWithFallback(*known, *other, program);
}

Answer Execution::RunAs(const launch::Installation& known, const Program& program) {
  attempt_.emplace(Terms(), begun_);
  if (auto refusal = attempt_->RunProgram(program, known)) return *std::move(refusal);
  return attempt_->TakeReport();
}

const launch::Installation* Execution::FallbackFor(const launch::Installation& known,
                                                   const Program& program) const {
  const auto& fallback = known.language.fallback;
  if (!program.may_fall_back || !fallback || program.files.empty()) return nullptr;
  const bool kept = std::ranges::any_of(
      fallback->unless_env, [&](const std::string& name) { return program.env.contains(name); });
  const launch::Installation* other = kept ? nullptr : facilities_.catalog.Find(fallback->language);
  if (other == nullptr) return nullptr;
  // The entry gets the name that the other language demands, so no other file may have it.
  const bool taken = std::ranges::any_of(program.files, [&](const jail::InputFile& file) {
    return file.name == other->language.entry.file;
  });
  return taken ? nullptr : other;
}

void Execution::HoldOutput() {
  gate_.emplace(request_.on_output);
  if (!request_.on_output) return;
  request_.on_output = [this](StepKind step, Stream stream, std::string_view text) {
    gate_->Take(step, stream, text);
  };
}

Answer Execution::RunWithFallback(const launch::Installation& known,
                                  const launch::Installation& other, Program& program) {
  HoldOutput();
  Answer first = RunAs(known, program);
  auto* refused = std::get_if<Report>(&first);
  if (refused == nullptr || !refused->refused) {
    gate_->Open();
    return first;
  }
  attempt_->ReturnSlot();
  gate_->BeginSecond();
  program.language = other.language.id;
  program.files[0].name = other.language.entry.file;
  Answer second = RunAs(other, program);
  auto* report_of_second = std::get_if<Report>(&second);
  if (report_of_second != nullptr && report_of_second->run) {
    report_of_second->fallback_language = other.language.id;
    report_of_second->install += refused->install;
    gate_->Open();
    return second;
  }
  const auto* refusal = std::get_if<Refusal>(&second);
  if (refusal != nullptr && refusal->kind == RefusalKind::kCancelled) return second;
  gate_->OpenFirst();
  if (report_of_second != nullptr) {
    NoteFallback(other.language.name, *report_of_second, request_, *refused);
  }
  return first;
}

void Execution::ReturnSlot() {
  if (attempt_) attempt_->ReturnSlot();
}

void Execution::EndSlot() {
  if (attempt_) attempt_->EndSlot();
}

}  // namespace polybox::exec
