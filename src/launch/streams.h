// Runs a step with its standard streams connected. Output is passed on as it arrives, up to a
// limit. Input is copied from a descriptor, so that the guest never gets polybox's terminal.
// Signals that polybox receives are passed on. Used for runs of guests and installers.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "jail/slot.h"

namespace polybox::launch {

/// A standard stream of a guest: its output or its error output.
enum class Stream { kOut, kErr };

/// Where the standard streams of a run lead.
struct Streams {
  /// Receives a part of the output, on the thread that runs the step.
  using Sink = std::function<void(std::string_view)>;

  /// A borrowed descriptor whose content the guest reads after `input_bytes`; -1 for none.
  int input = -1;
  std::string input_bytes;
  Sink out;
  Sink err;
  /// The limit of both outputs together. One byte more ends the run. Absent: the sinks limit the
  /// output themselves.
  std::optional<Bytes> limit = Bytes::MiB(1);
  /// The run is killed once stop is requested, also if its guest does not run yet.
  std::stop_token cancel = {};
  /// A borrowed signalfd whose signals are sent to the guest; -1 for none.
  int signals = -1;
};

/// Sets the streams of the request and runs it. Blocks until the run has ended and its output has
/// been read.
Result<jail::Outcome> RunWithStreams(jail::Slot& slot, jail::RunRequest request,
                                     const Streams& streams);

}  // namespace polybox::launch
