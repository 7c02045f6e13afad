// Performs the compile step of a session: runs the compiler, or takes the result from the compile
// cache. In both cases the slot then contains the same files, in the same order, and nothing else.
// Used by session.cc.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "compile/compile_cache.h"
#include "compile/compile_key.h"
#include "jail/slot.h"

namespace polybox::compile {

/// Receives parts of a step's output in the order of arrival, on the thread that runs the step.
using Listener = std::function<void(launch::Stream, std::string_view)>;

/// One compile step.
struct CompileJob {
  /// Everything that the compiler sees; borrowed.
  CompileSight sight;
  /// The limit of the output that ends the step; a cached result with more output is not used.
  /// Absent: no such limit.
  std::optional<Bytes> output;
  /// Receives the compiler's output, or the cached output.
  Listener listener;
  /// Runs the compiler in the slot, which contains the files already. The compiler's output goes to
  /// the listener in the argument.
  std::function<Result<jail::Outcome>(const Listener&)> run;
  /// Stop is requested when the session is cancelled.
  std::stop_token cancel = {};
};

/// The result of a compile step.
struct Compiled {
  jail::Outcome outcome;
  /// Whether the cache had the result; absent when the cache was not used.
  std::optional<bool> hit;
};

/// Puts the files into the slot and compiles them. `cache` may be null. An error means that the
/// slot is broken; a compiler that fails is an Outcome.
Result<Compiled> CompileIn(jail::Slot& slot, CompileCache* cache, const CompileJob& job);

}  // namespace polybox::compile
