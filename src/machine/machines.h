// The machines of one server: one for each workspace, made when a tool first asks. Any thread.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "machine/machine.h"

namespace polybox::machine {

class Machines {
 public:
  explicit Machines(FindHome home, MachineSettings settings = {})
      : home_(std::move(home)), settings_(std::move(settings)) {}

  /// Returns the machine of a workspace. Starts nothing but a thread that ends idle leases.
  Machine& Of(const workspace::Workspace& workspace);

 private:
  /// Ends idle leases until it is asked to stop.
  void Watch(const std::stop_token& stop);

  const FindHome home_;
  const MachineSettings settings_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  /// Guarded by `mutex_`; by the name of the workspace. No machine is ever removed.
  std::map<std::string, std::unique_ptr<Machine>> machines_;
  /// Last: it uses the members above. Made with the first machine.
  std::jthread watcher_;
};

}  // namespace polybox::machine
