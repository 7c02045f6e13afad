// The compile step of a session, done by the compiler or found in the cache. Either way the slot
// then holds the same files, in the same order, and nothing else.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "exec/compile_cache.h"
#include "exec/compile_key.h"
#include "jail/slot.h"

namespace polybox::exec {

using Listener = std::function<void(Stream, std::string_view)>;

struct CompileJob {
  CompileSight sight;
  /// Whoever says more than this is ended; absent: nobody is.
  std::optional<Bytes> output;
  /// Gets what the compiler says, or said.
  Listener listener;
  /// Runs the compiler in the slot, which has the files already; what it says goes to the listener
  /// that is passed.
  std::function<Result<jail::Outcome>(const Listener&)> run;
  std::stop_token cancel = {};
};

struct Compiled {
  jail::Outcome outcome;
  /// Whether the cache had it; absent when it was not asked.
  std::optional<bool> hit;
};

/// Puts the files into the slot and compiles them. `cache` may be null. An error means that the
/// slot is broken.
Result<Compiled> CompileIn(jail::Slot& slot, CompileCache* cache, const CompileJob& job);

}  // namespace polybox::exec
