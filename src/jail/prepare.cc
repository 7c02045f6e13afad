#include "jail/prepare.h"

#include <utility>

#include "base/files.h"
#include "jail/init_image.h"
#include "jail/trees.h"

namespace polybox::jail {

Result<Prepared> Prepare(Spec spec) {
  Prepared prepared;
  spec.trees = WithSubmounts(spec.trees, ReadFile("/proc/self/mountinfo").value_or(""));
  prepared.plan = MakePlan(spec);
  UniqueFd devices;
  if (!prepared.plan.devices.empty()) {
    Result<UniqueFd> made = MakeDevices(prepared.plan.devices);
    if (made.ok()) {
      devices = std::move(made).value();
    } else {
      prepared.shared.push_back("/dev: " + made.error().message());
      spec.own_devices = false;
      prepared.plan = MakePlan(spec);
    }
  }
  for (const Tree& tree : prepared.plan.trees) {
    POLYBOX_ASSIGN_OR_RETURN(UniqueFd fd, OpenTree(tree));
    prepared.trees.push_back(std::move(fd));
  }
  if (devices.valid()) prepared.trees.push_back(std::move(devices));
  if (prepared.plan.warm_library) {
    POLYBOX_ASSIGN_OR_RETURN(UniqueFd library, WarmLibrary());
    prepared.trees.push_back(std::move(library));
  }
  return prepared;
}

}  // namespace polybox::jail
