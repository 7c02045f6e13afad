// Executes one admitted request and makes its answer: finds the language, makes the attempt, and
// decides about a second attempt in the fallback language. A worker thread of the engine makes one
// Execution for each request.
#pragma once

#include <optional>
#include <stop_token>

#include "exec/attempt.h"
#include "exec/output_gate.h"
#include "exec/request.h"

namespace polybox::exec {

/// One thread uses it.
class Execution {
 public:
  /// Stop of `cancel` is requested when the request is cancelled. `request` is borrowed; a fallback
  /// changes its program.
  Execution(const Facilities& facilities, Request& request, std::stop_token cancel);

  /// Runs the request to its end. Blocks meanwhile. `queued` is the time that it waited. Called
  /// once.
  Answer Run(Duration queued);
  /// Gives the slot back to the pool, or ends it if no request will come any more. Called after the
  /// answer was passed on, because a reset would delay it.
  void ReturnSlot();
  void EndSlot();

 private:
  Answer RunProgram(Program& program);
  Answer RunCommand(const Command& command);
  /// Makes an attempt in the language `known`.
  Answer RunAs(const launch::Installation& known, const Program& program);
  /// Returns the language that takes over what `known` refuses to parse; null if none may.
  const launch::Installation* FallbackFor(const launch::Installation& known,
                                          const Program& program) const;
  /// Makes an attempt in `known`, and one in `other` if the interpreter refuses the program.
  Answer RunWithFallback(const launch::Installation& known, const launch::Installation& other,
                         Program& program);
  /// Passes all output through the gate from now on.
  void HoldOutput();

  AttemptTerms Terms();

  const Facilities& facilities_;
  Request& request_;
  const std::stop_token cancel_;
  /// The report before any attempt.
  Report begun_;
  /// Holds output back while another language may take the program over.
  std::optional<OutputGate> gate_;
  /// The present attempt. It has the slot until ReturnSlot() or EndSlot().
  std::optional<Attempt> attempt_;
};

}  // namespace polybox::exec
