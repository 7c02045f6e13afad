#include "machine/machines.h"

#include <algorithm>
#include <vector>

#include "jail/slot_numbers.h"

namespace polybox::machine {

Machine& Machines::Of(const workspace::Workspace& workspace) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Machine>& machine = machines_[workspace.name()];
  if (!machine) {
    const auto count = static_cast<unsigned>(machines_.size() - 1);
    machine = std::make_unique<Machine>(
        workspace,
        MachineOptions{.home = home_,
                       .settings = settings_,
                       .number = jail::SlotNumber(jail::SlotUse::kMachine, count),
                       .trial_number = jail::SlotNumber(jail::SlotUse::kRegistries, count)});
    if (!watcher_.joinable() && settings_.idle_time > Duration::zero()) {
      watcher_ = std::jthread([this](const std::stop_token& stop) { Watch(stop); });
    }
    changed_.notify_all();
  }
  return *machine;
}

void Machines::Watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    std::vector<Machine*> machines;
    for (const auto& [name, machine] : machines_) machines.push_back(machine.get());
    // Ending a lease takes time, and a machine that makes its lease holds its own lock.
    lock.unlock();
    auto next = std::chrono::steady_clock::now() + settings_.idle_time;
    for (Machine* machine : machines) next = std::min(next, machine->EndIfIdle().value_or(next));
    lock.lock();
    changed_.wait_until(lock, stop, next, [] { return false; });
  }
}

}  // namespace polybox::machine
