// The result of a step of the slot init. Plain data without allocation, so that processes that
// share memory may use it too (raw.h).
#pragma once

#include "jail/init/protocol.h"

namespace polybox::jail::init {

/// Success, or a failure to report. `failed` has a meaning only without `ok`; its stage is never
/// kExec with error 0.
struct StepResult {
  bool ok = true;
  Failed failed;

  static StepResult Failure(Stage stage, int error, int index = -1) {
    return {false, {stage, error, index}};
  }
};

}  // namespace polybox::jail::init
