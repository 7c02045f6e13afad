#include "exec/pool.h"

#include <algorithm>
#include <vector>

#include "jail/slot_numbers.h"

namespace polybox::exec {
namespace {

// The memory of a slot is measured after the first kMeasures of every kMeasureEvery sessions only.
// It hardly changes once an interpreter runs in the slot, and a measurement costs as much as the
// start of a small program.
constexpr unsigned kMeasureEvery = 16;
constexpr unsigned kMeasures = 2;

// A key may have two slots for each session (one in use, one being reset) and a spare one. With
// more slots, a session waits for a reset instead.
constexpr std::size_t kSlotsForEach = 2;
constexpr std::size_t kSpare = 1;

}  // namespace

std::unique_ptr<SlotPool::Loan> SlotPool::TakeIdle(const std::string& key) {
  // The slot that was used last: its memory is probably in the processor's caches.
  for (auto at = idle_.rbegin(); at != idle_.rend(); ++at) {
    if (at->loan->key != key) continue;
    std::unique_ptr<Loan> loan = std::move(at->loan);
    idle_.erase(std::next(at).base());
    return loan;
  }
  return nullptr;
}

unsigned SlotPool::TakeNumber() {
  const std::lock_guard lock(mutex_);
  unsigned index = 0;
  const auto number = [&] { return jail::SlotNumber(jail::SlotUse::kPool, index); };
  while (numbers_.contains(number())) ++index;
  numbers_.insert(number());
  return number();
}

Status SlotPool::ServeEgress(Loan& loan) const {
  if (egress_ == nullptr) return {};
  POLYBOX_ASSIGN_OR_RETURN(loan.egress, egress_->Serve(*loan.slot));
  return {};
}

std::unique_ptr<SlotPool::Loan> SlotPool::Find(const std::string& key) {
  std::unique_lock lock(mutex_);
  Crew& crew = crews_[key];
  ++crew.wanted;
  const auto deadline = std::chrono::steady_clock::now() + limits_.patience;
  for (bool in_time = true;;) {
    if (std::unique_ptr<Loan> idle = TakeIdle(key)) return idle;
    const bool may_grow = crew.slots < kSlotsForEach * crew.wanted + kSpare;
    if (may_grow || crew.returning <= crew.waiting || !in_time) break;
    ++crew.waiting;
    in_time = returned_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    --crew.waiting;
  }
  // The caller makes a slot. It counts from now on, so that other sessions do not make too many.
  ++crew.slots;
  return nullptr;
}

Result<std::unique_ptr<SlotPool::Loan>> SlotPool::Take(const std::string& key,
                                                       const MakeSpec& spec) {
  // The processes of an idle slot may have ended while it waited. Drop() also decrements the count
  // of slots that Find() incremented.
  while (std::unique_ptr<Loan> idle = Find(key)) {
    if (idle->slot->Alive()) return idle;
    Drop(std::move(idle));
  }
  auto loan = std::make_unique<Loan>();
  loan->key = key;
  loan->number = TakeNumber();
  Result<jail::Slot> slot = home_.MakeSlot(spec(), loan->number);
  if (!slot.ok()) {
    Drop(std::move(loan));
    return slot.error();
  }
  loan->slot.emplace(std::move(slot).value());
  TellShared(*loan->slot);
  Status served;
  if (limits_.await_warm) served = loan->slot->Reset();
  if (served.ok()) served = ServeEgress(*loan);
  if (!served.ok()) {
    Drop(std::move(loan));
    return served.error();
  }
  return loan;
}

void SlotPool::TellShared(const jail::Slot& slot) {
  // Resources beyond this number are probably package sets, one like the other.
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

void SlotPool::Drop(std::unique_ptr<Loan> loan) {
  const std::string key = loan->key;
  End(std::move(loan));
  const std::lock_guard lock(mutex_);
  --crews_[key].wanted;
  Forget(key);
}

void SlotPool::End(std::unique_ptr<Loan> loan) {
  const unsigned number = loan->number;
  const std::string key = loan->key;
  loan.reset();  // the slot's cgroups must be gone before its number is free
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
      std::ranges::count_if(idle_, [&](const Idle& idle) { return idle.loan->key == key; }));
}

bool SlotPool::IsTooMuch() const {
  std::uint64_t memory = 0;
  for (const Idle& idle : idle_) memory += idle.loan->memory.count();
  return idle_.size() > limits_.most || memory > limits_.memory.count();
}

std::unique_ptr<SlotPool::Loan> SlotPool::TakeSurplus() {
  auto found = idle_.end();
  std::size_t most = 0;
  for (auto at = idle_.begin(); at != idle_.end(); ++at) {
    const std::string& key = at->loan->key;
    const std::size_t count = CountIdle(key);
    const bool must_stay = key == limits_.kept_key && count <= limits_.kept;
    if (must_stay || count <= most) continue;
    found = at;
    most = count;
  }
  if (found == idle_.end()) return nullptr;
  std::unique_ptr<Loan> surplus = std::move(found->loan);
  idle_.erase(found);
  return surplus;
}

bool SlotPool::MakeReady(Loan& loan) const {
  // The connections of the last session must end before the next session has a network.
  loan.egress.reset();
  if (!loan.slot->Reset().ok() || !ServeEgress(loan).ok()) return false;
  if (loan.returns++ % kMeasureEvery < kMeasures) loan.memory = loan.slot->WaitingMemory();
  return true;
}

void SlotPool::Give(std::unique_ptr<Loan> loan) {
  const std::string key = loan->key;
  {
    const std::lock_guard lock(mutex_);
    --crews_[key].wanted;
    ++crews_[key].returning;
  }
  const bool ready = MakeReady(*loan);
  std::vector<std::unique_ptr<Loan>> surplus;
  {
    const std::lock_guard lock(mutex_);
    --crews_[key].returning;
    if (ready) {
      idle_.push_back({std::move(loan), std::chrono::steady_clock::now()});
      while (IsTooMuch()) {
        std::unique_ptr<Loan> one = TakeSurplus();
        if (one == nullptr) break;
        surplus.push_back(std::move(one));
      }
    } else {
      surplus.push_back(std::move(loan));
    }
  }
  // Wakes the waiting sessions of all keys; each looks for a slot of its own key.
  returned_.notify_all();
  for (std::unique_ptr<Loan>& one : surplus) End(std::move(one));
}

void SlotPool::DropIdle(std::chrono::steady_clock::duration time) {
  const auto before = std::chrono::steady_clock::now() - time;
  std::vector<std::unique_ptr<Loan>> old;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = idle_.begin(); at != idle_.end() && at->since <= before;) {
      const std::string& key = at->loan->key;
      if (key == limits_.kept_key && CountIdle(key) <= limits_.kept) {
        ++at;
        continue;
      }
      old.push_back(std::move(at->loan));
      at = idle_.erase(at);
    }
  }
  for (std::unique_ptr<Loan>& loan : old) End(std::move(loan));
}

}  // namespace polybox::exec
