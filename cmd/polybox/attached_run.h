// Runs one request of the engine for a caller at a terminal. While a step of the program runs,
// SIGINT and SIGTERM go to the program. Before a step runs, they end the request.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "exec/engine.h"

namespace polybox::cmd {

/// Blocks SIGINT and SIGTERM and returns a descriptor from which they can be read. Signals that the
/// caller of polybox ignores stay ignored. Call before any thread is started, because threads
/// inherit the signal mask.
Result<UniqueFd> TakeSignals();

struct AttachedAnswer {
  exec::Answer answer;
  /// The signal that ended the request before a step ran; 0 for none.
  int ended_by = 0;
};

/// Submits `request` with `signals` (borrowed, from TakeSignals()) and waits for the answer.
AttachedAnswer RunAttached(exec::Executor& engine, exec::Request request, int signals);

}  // namespace polybox::cmd
