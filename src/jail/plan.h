// From what a slot shows (Spec) to the steps that build it (operations of the slot init). A pure
// function: the plan of any host can be made and read on any other, without root.
#pragma once

#include <string>
#include <vector>

#include "jail/init/protocol.h"
#include "jail/spec.h"

namespace polybox::jail {

struct Plan {
  std::vector<init::Operation> operations;
  /// Host paths to open as detached trees and to send along, in the order of the operations' `tree`
  /// indexes. Empty in grades where the slot init binds paths itself.
  std::vector<Tree> trees;
  /// What Landlock allows, in the grade that is made of it.
  std::vector<init::PathRule> rules;
  /// Host paths of the devices to make anew and to send along after the trees, all in one.
  std::vector<std::string> devices;
  /// The warm library goes along after all these.
  bool warm_library = false;
};

Plan MakePlan(const Spec& spec);

/// One line per operation, for tests and for people.
std::string Describe(const Plan& plan);
std::string Describe(const init::Operation& operation);

}  // namespace polybox::jail
