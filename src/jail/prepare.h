// Turns a Spec into what the server sends to a slot init: the plan, and the descriptors that only
// the server can make.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/plan.h"
#include "jail/spec.h"

namespace polybox::jail {

struct Prepared {
  Plan plan;
  /// The descriptors to send with the plan, in the order that plan.h states.
  std::vector<UniqueFd> trees;
  /// One sentence for each thing that guests share with the host although they should not, with the
  /// reason.
  std::vector<std::string> shared;
};

/// Makes the plan for this host and opens its descriptors. Where copying mounts is refused, it
/// returns a plan in which the slot init binds the trees. Any thread may call it.
/// `guest` are the host ids of the guests.
Result<Prepared> Prepare(Spec spec, const HostIds& guest);

}  // namespace polybox::jail
