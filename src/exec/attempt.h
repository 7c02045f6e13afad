// One attempt to run the work of a request: a program in one language, or a command. It provides
// the packages, takes a slot and runs the session there. execution.cc makes one attempt for each
// request, and a second one for a fallback language.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "exec/catalog.h"
#include "exec/engine.h"
#include "exec/installations.h"
#include "exec/output_gate.h"
#include "exec/pool.h"
#include "exec/request.h"
#include "exec/session.h"
#include "launch/jail_home.h"

namespace polybox::exec {

/// What all executions of an engine use. The engine owns the objects, which any thread may use.
struct Facilities {
  const Catalog& catalog;
  const launch::JailHome& home;
  const EngineOptions& options;
  const Installations& installations;
  SlotPool& pool;
};

/// What the attempts of one request share. Borrowed; must outlive them.
struct AttemptTerms {
  const Facilities& facilities;
  const Request& request;
  /// Stop is requested when the request is cancelled. Every step then ends early.
  std::stop_token cancel;
  /// Null if no other language may take the program over.
  OutputGate* gate = nullptr;
};

/// The thread that runs the request uses it.
class Attempt {
 public:
  /// `begun` has what is known of the request before the attempt.
  Attempt(AttemptTerms terms, Report begun) : terms_(terms), report_(std::move(begun)) {}
  /// Ends the slot, unless ReturnSlot() gave it back.
  ~Attempt() { EndSlot(); }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  /// Runs the program in the language `known`, which is from the catalog. After nullopt,
  /// TakeReport() returns the result. Called once, as is RunCommand().
  std::optional<Refusal> RunProgram(const Program& program, const launch::Installation& known);
  std::optional<Refusal> RunCommand(const Command& command);
  Report TakeReport() { return std::move(report_); }

  /// Gives the slot back to the pool, which resets it for the next session; a broken slot is ended.
  /// Blocks meanwhile. Does nothing without a slot.
  void ReturnSlot();
  /// Ends the slot. Does nothing without a slot.
  void EndSlot();

 private:
  /// The steps, in their order. A refusal ends the attempt.
  std::optional<Refusal> ProvidePackages(const Program& program, const launch::Installation& known);
  std::optional<Refusal> Install(const Program& program, const launch::Installation& known);
  void ShowPreparedLayer();
  std::optional<Refusal> TakeSlot(const std::string& key, const SlotPool::MakeSpec& spec);
  std::optional<Refusal> RunSession(const std::function<Status(Session&)>& run);

  const EngineOptions& options() const { return terms_.facilities.options; }
  jail::Grade grade() const { return terms_.facilities.home.grade(); }

  const AttemptTerms terms_;
  Report report_;
  /// What the slot shows; set by ProvidePackages().
  std::optional<launch::Installation> installation_;
  /// Keeps the package set of the request from being removed; null for none.
  std::shared_ptr<void> set_;
  std::unique_ptr<SlotPool::Loan> loan_;
  /// Whether the slot failed and cannot be reset.
  bool broken_ = false;
};

}  // namespace polybox::exec
