#include "jail/prepare.h"

#include <cerrno>
#include <utility>

#include "base/files.h"
#include "jail/init_image.h"
#include "jail/trees.h"

namespace polybox::jail {
namespace {

Result<Prepared> PrepareAs(Spec spec, const HostIds& guest) {
  Prepared prepared;
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
    POLYBOX_ASSIGN_OR_RETURN(UniqueFd fd, OpenTree(tree, guest));
    prepared.trees.push_back(std::move(fd));
  }
  if (devices.valid()) prepared.trees.push_back(std::move(devices));
  if (prepared.plan.warm_library) {
    POLYBOX_ASSIGN_OR_RETURN(UniqueFd library, WarmLibrary());
    prepared.trees.push_back(std::move(library));
  }
  return prepared;
}

}  // namespace

Result<Prepared> Prepare(Spec spec, const HostIds& guest) {
  spec.trees = WithSubmounts(spec.trees, ReadFile("/proc/self/mountinfo").value_or(""));
  Result<Prepared> prepared = PrepareAs(spec, guest);
  // Root in a container may lack the capability to copy mounts. Then the slot init binds the trees,
  // in its own namespaces.
  const bool refused = !prepared.ok() && prepared.error().system_errno() == EPERM;
  if (!refused || !spec.privileged) return prepared;
  spec.hands_in_trees = false;
  return PrepareAs(std::move(spec), guest);
}

}  // namespace polybox::jail
