#include "exec/pool.h"

#include <algorithm>
#include <vector>

namespace polybox::exec {
namespace {

// What a slot holds hardly changes once an interpreter has settled in it, and to ask costs as much
// as a small program's start.
constexpr unsigned kMeasureEvery = 16;
constexpr unsigned kMeasures = 2;

// For each that is in use, one that is made ready meanwhile; and one for good measure.
constexpr std::size_t kSlotsForEach = 2;
constexpr std::size_t kSpare = 1;

}  // namespace

std::unique_ptr<SlotPool::Lease> SlotPool::TakeIdle(const std::string& key) {
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

Status SlotPool::ServeEgress(Lease& lease) const {
  if (egress_ == nullptr) return {};
  POLYBOX_ASSIGN_OR_RETURN(lease.egress, egress_->Serve(*lease.slot));
  return {};
}

std::unique_ptr<SlotPool::Lease> SlotPool::Find(const std::string& key) {
  std::unique_lock lock(mutex_);
  Crew& crew = crews_[key];
  ++crew.wanted;
  const auto deadline = std::chrono::steady_clock::now() + limits_.patience;
  for (bool in_time = true;;) {
    if (std::unique_ptr<Lease> idle = TakeIdle(key)) return idle;
    const bool may_grow = crew.slots < kSlotsForEach * crew.wanted + kSpare;
    if (may_grow || crew.returning <= crew.waiting || !in_time) break;
    ++crew.waiting;
    in_time = returned_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    --crew.waiting;
  }
  ++crew.slots;
  return nullptr;
}

Result<std::unique_ptr<SlotPool::Lease>> SlotPool::Take(const std::string& key,
                                                        const MakeSpec& spec) {
  while (std::unique_ptr<Lease> idle = Find(key)) {
    if (idle->slot->Alive()) return idle;
    Drop(std::move(idle));
  }
  auto lease = std::make_unique<Lease>();
  lease->key = key;
  lease->number = TakeNumber();
  Result<jail::Slot> slot = home_.MakeSlot(spec(), lease->number);
  if (!slot.ok()) {
    Drop(std::move(lease));
    return slot.error();
  }
  lease->slot.emplace(std::move(slot).value());
  TellShared(*lease->slot);
  const Status served = ServeEgress(*lease);
  if (!served.ok()) {
    Drop(std::move(lease));
    return served.error();
  }
  return lease;
}

void SlotPool::TellShared(const jail::Slot& slot) {
  // More would be package sets, one like the other.
  constexpr std::size_t kMost = 64;
  if (!limits_.on_shared) return;
  for (const std::string& what : slot.shared()) {
    {
      const std::lock_guard lock(mutex_);
      if (shared_.size() == kMost || !shared_.insert(what).second) continue;
    }
    limits_.on_shared(what);
  }
}

void SlotPool::Drop(std::unique_ptr<Lease> lease) {
  const std::string key = lease->key;
  End(std::move(lease));
  const std::lock_guard lock(mutex_);
  --crews_[key].wanted;
  Forget(key);
}

void SlotPool::End(std::unique_ptr<Lease> lease) {
  const unsigned number = lease->number;
  const std::string key = lease->key;
  lease.reset();  // its cgroups are gone before its number is free
  const std::lock_guard lock(mutex_);
  numbers_.erase(number);
  --crews_[key].slots;
  Forget(key);
}

void SlotPool::Forget(const std::string& key) {
  const Crew& crew = crews_[key];
  if (crew.slots == 0 && crew.wanted == 0 && crew.returning == 0) crews_.erase(key);
}

std::size_t SlotPool::CountIdle(const std::string& key) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(idle_, [&](const Idle& idle) { return idle.lease->key == key; }));
}

bool SlotPool::IsTooMuch() const {
  std::uint64_t memory = 0;
  for (const Idle& idle : idle_) memory += idle.lease->memory.count();
  return idle_.size() > limits_.most || memory > limits_.memory.count();
}

std::unique_ptr<SlotPool::Lease> SlotPool::TakeSurplus() {
  auto found = idle_.end();
  std::size_t most = 0;
  for (auto at = idle_.begin(); at != idle_.end(); ++at) {
    const std::string& key = at->lease->key;
    const std::size_t count = CountIdle(key);
    const bool must_stay = key == limits_.kept_key && count <= limits_.kept;
    if (must_stay || count <= most) continue;
    found = at;
    most = count;
  }
  if (found == idle_.end()) return nullptr;
  std::unique_ptr<Lease> surplus = std::move(found->lease);
  idle_.erase(found);
  return surplus;
}

bool SlotPool::MakeReady(Lease& lease) const {
  // Its connections end before there is a new network for the next.
  lease.egress.reset();
  if (!lease.slot->Reset().ok() || !ServeEgress(lease).ok()) return false;
  if (lease.returns++ % kMeasureEvery < kMeasures) lease.memory = lease.slot->WaitingMemory();
  return true;
}

void SlotPool::Give(std::unique_ptr<Lease> lease) {
  const std::string key = lease->key;
  {
    const std::lock_guard lock(mutex_);
    --crews_[key].wanted;
    ++crews_[key].returning;
  }
  const bool ready = MakeReady(*lease);
  std::vector<std::unique_ptr<Lease>> surplus;
  {
    const std::lock_guard lock(mutex_);
    --crews_[key].returning;
    if (ready) {
      idle_.push_back({std::move(lease), std::chrono::steady_clock::now()});
      while (IsTooMuch()) {
        std::unique_ptr<Lease> one = TakeSurplus();
        if (one == nullptr) break;
        surplus.push_back(std::move(one));
      }
    } else {
      surplus.push_back(std::move(lease));
    }
  }
  // Of any key: whoever waits looks for itself.
  returned_.notify_all();
  for (std::unique_ptr<Lease>& one : surplus) End(std::move(one));
}

void SlotPool::DropIdle(std::chrono::steady_clock::duration time) {
  const auto before = std::chrono::steady_clock::now() - time;
  std::vector<std::unique_ptr<Lease>> old;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = idle_.begin(); at != idle_.end() && at->since <= before;) {
      const std::string& key = at->lease->key;
      if (key == limits_.kept_key && CountIdle(key) <= limits_.kept) {
        ++at;
        continue;
      }
      old.push_back(std::move(at->lease));
      at = idle_.erase(at);
    }
  }
  for (std::unique_ptr<Lease>& lease : old) End(std::move(lease));
}

}  // namespace polybox::exec
