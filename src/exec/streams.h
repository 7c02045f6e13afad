// Runs a step with its standard streams connected: output goes out as it comes, bounded; input
// comes from a descriptor without handing the guest our terminal; signals that we are told of are
// passed on.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "jail/slot.h"

namespace polybox::exec {

struct Streams {
  using Sink = std::function<void(std::string_view)>;

  /// Borrowed; -1 is no input but `input_bytes`.
  int input = -1;
  std::string input_bytes;
  Sink out;
  Sink err;
  /// Both together; one byte more ends the run. Absent: the sinks see to it.
  std::optional<Bytes> limit = Bytes::MiB(1);
  /// Borrowed; once true, the run is ended. May be null.
  const std::atomic<bool>* cancelled = nullptr;
  /// Borrowed signalfd: what arrives there is sent to the guest; -1 for none.
  int signals = -1;
};

/// Fills in the request's streams. Blocks until the run has ended and its output is drained.
Result<jail::Outcome> RunWithStreams(jail::Slot& slot, jail::RunRequest request,
                                     const Streams& streams);

}  // namespace polybox::exec
