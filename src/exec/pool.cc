#include "exec/pool.h"

#include <algorithm>
#include <vector>

namespace polybox::exec {

std::unique_ptr<SlotPool::Lease> SlotPool::TakeIdle(const std::string& key) {
  const std::lock_guard lock(mutex_);
  // The one that was used last: its memory is warm.
  for (auto at = idle_.rbegin(); at != idle_.rend(); ++at) {
    if (at->lease->key != key) continue;
    std::unique_ptr<Lease> lease = std::move(at->lease);
    idle_.erase(std::next(at).base());
    return lease;
  }
  return nullptr;
}

unsigned SlotPool::TakeNumber() {
  const std::lock_guard lock(mutex_);
  unsigned number = 0;
  while (numbers_.contains(number)) ++number;
  numbers_.insert(number);
  return number;
}

Result<std::unique_ptr<SlotPool::Lease>> SlotPool::Take(const std::string& key,
                                                        const jail::Spec& spec) {
  while (std::unique_ptr<Lease> idle = TakeIdle(key)) {
    if (idle->slot->Alive()) return idle;
    Drop(std::move(idle));
  }
  auto lease = std::make_unique<Lease>();
  lease->key = key;
  lease->number = TakeNumber();
  Result<jail::Slot> slot = home_.MakeSlot(spec, lease->number);
  if (!slot.ok()) {
    Drop(std::move(lease));
    return slot.error();
  }
  lease->slot.emplace(std::move(slot).value());
  return lease;
}

void SlotPool::Drop(std::unique_ptr<Lease> lease) {
  const unsigned number = lease->number;
  lease.reset();  // its cgroups are gone before its number is free
  const std::lock_guard lock(mutex_);
  numbers_.erase(number);
}

void SlotPool::Give(std::unique_ptr<Lease> lease) {
  if (!lease->slot->Reset().ok()) return Drop(std::move(lease));
  std::unique_ptr<Lease> surplus;
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back({std::move(lease), std::chrono::steady_clock::now()});
    if (idle_.size() > most_idle_) {
      surplus = std::move(idle_.front().lease);
      idle_.pop_front();
    }
  }
  if (surplus != nullptr) Drop(std::move(surplus));
}

void SlotPool::DropIdle(std::chrono::steady_clock::duration time) {
  const auto before = std::chrono::steady_clock::now() - time;
  std::vector<std::unique_ptr<Lease>> old;
  {
    const std::lock_guard lock(mutex_);
    while (!idle_.empty() && idle_.front().since <= before) {
      old.push_back(std::move(idle_.front().lease));
      idle_.pop_front();
    }
  }
  for (std::unique_ptr<Lease>& lease : old) Drop(std::move(lease));
}

}  // namespace polybox::exec
