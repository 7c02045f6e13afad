// Turns the description of a slot (Spec) into the steps that build it (operations of the slot
// init). A pure function: the plan of any host can be made and read on any other host, without
// root.
#pragma once

#include <string>
#include <vector>

#include "jail/init/protocol.h"
#include "jail/spec.h"

namespace polybox::jail {

struct Plan {
  std::vector<init::Operation> operations;
  /// Host paths that the server opens as detached mounts and sends with the plan. The `tree` of an
  /// operation is an index into this list. Empty in grades where the slot init binds paths itself.
  std::vector<Tree> trees;
  /// The paths that Landlock allows. Only grade kLandlock has rules.
  std::vector<init::PathRule> rules;
  /// Host paths of the device nodes to make anew. The server makes one file system for all of them
  /// and sends its descriptor after those of the trees.
  std::vector<std::string> devices;
  /// Whether the server sends a descriptor of the warm library after all the others.
  bool warm_library = false;
};

Plan MakePlan(const Spec& spec);

/// Returns one line per operation, for tests and for plans that are printed.
std::string Describe(const Plan& plan);
std::string Describe(const init::Operation& operation);

}  // namespace polybox::jail
