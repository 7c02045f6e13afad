// From a spec to what a slot init is sent: the plan, with the parts that only the server can make.
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
  /// What goes along with the plan.
  std::vector<UniqueFd> trees;
  /// What guests share with the host although they should not, and why.
  std::vector<std::string> shared;
};

/// The plan for this host, with the parts that only we can make.
Result<Prepared> Prepare(Spec spec);

}  // namespace polybox::jail
